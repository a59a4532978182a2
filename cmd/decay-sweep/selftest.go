package main

import (
	"context"

	"github.com/iamfaham/recolva/internal/selftest"
)

func selftestVerb() verb {
	return verb{
		name:  "selftest",
		doc:   "print a digest of scores that is the same on every machine",
		flags: func() []flagGroup { return []flagGroup{{"Flags", infoFlags()}} },
		run: func(ctx context.Context, p *program, o *options) error {
			return p.result([]byte(selftest.Digest() + "\n"))
		},
	}
}
