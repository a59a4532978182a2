// Package version holds the one version number of recolva, which the Go
// program, the C library and the Python package all report.
package version

import (
	_ "embed"
	"strings"
)

//go:embed VERSION
var number string

// Number returns the version without a leading v, for example "1.0.0".
func Number() string { return strings.TrimSpace(number) }
