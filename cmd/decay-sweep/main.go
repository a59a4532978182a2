// Command decay-sweep scores the records of a JSONL store of agent memories and
// archives or deletes the weak ones. Run it with --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/iamfaham/recolva/internal/ledger"
	"github.com/iamfaham/recolva/internal/transaction"
)

// The exit statuses; those between come from transaction.Class.
const (
	statusDone   = 0
	statusFailed = int(transaction.Failed)
	statusMisuse = 2
	statusSignal = 128 // plus the signal's number
)

// verb is a word that may stand before the flags. The sweep itself has none.
// Everything that is about verbs in general derives from the table of these
// rows; its help text is help/NAME.txt.
type verb struct {
	name   string
	doc    string // one line, for lists of verbs
	flags  func() []flagGroup
	checks []func(*options) error // of flags against each other
	run    func(ctx context.Context, p *program, o *options) error
}

func verbTable() []verb {
	return []verb{sweepVerb(), restoreVerb(), verifyVerb(), recoverVerb(), completionVerb(), manVerb(), selftestVerb()}
}

// program is what a verb has to do with the world.
type program struct {
	voice
	stdin io.Reader
}

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	debug.SetGCPercent(25) // little is allocated, but a long line's memory comes in large pieces
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE) // a reader that went away must not stop a change halfway
	go func() {
		s := <-signals
		cancel(interrupted{s})
		signal.Stop(signals) // a second signal ends the program at once
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program without its process; it returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{voice{stdout: stdout, stderr: stderr, json: asksForJSON(args)}, stdin}
	err := p.do(ctx, args)
	if err == nil {
		return statusDone
	}
	status := statusOf(err)
	p.fail(err, status)
	return status
}

// do finds the verb, reads its flags and runs it.
func (p *program) do(ctx context.Context, args []string) error {
	verbs := verbTable()
	if len(args) > 0 && args[0] == "help" { // as other programs have it: help VERB
		args = append(args[1:len(args):len(args)], "--help")
	}
	v, rest := &verbs[0], args
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		for i := range verbs {
			if args[0] == verbs[i].name {
				v, rest = &verbs[i], args[1:]
			}
		}
	}
	o, err := v.parse(rest)
	switch {
	case err != nil:
		return err
	case o.help:
		return p.result(v.usage())
	case o.version:
		return p.result(versionText(o.json))
	}
	o.transaction.Warn = p.warn
	if err := p.checkStreams(o); err != nil {
		return err
	}
	return v.run(ctx, p, o)
}

// statusOf returns the exit status that tells of err.
func statusOf(err error) int {
	var m *misuse
	var w *ledger.WrongRun
	var i interrupted
	var t *transaction.Error
	switch {
	case errors.As(err, &m), errors.As(err, &w):
		return statusMisuse
	case errors.As(err, &t) && t.Class != transaction.Failed:
		return int(t.Class)
	case errors.As(err, &i):
		return statusSignal + i.number()
	}
	return statusFailed
}

// interrupted is the end by a signal.
type interrupted struct{ signal os.Signal }

func (i interrupted) Error() string {
	return fmt.Sprintf("stopped by signal %d (%v), nothing was changed", i.number(), i.signal)
}

func (i interrupted) number() int {
	if s, ok := i.signal.(syscall.Signal); ok {
		return int(s)
	}
	return int(syscall.SIGINT)
}
