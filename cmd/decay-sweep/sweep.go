package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/iamfaham/recolva/internal/record"
	"github.com/iamfaham/recolva/internal/sweep"
)

func sweepVerb() verb {
	return verb{
		doc:    "score the records of a store; report, archive or delete those that have faded",
		flags:  sweepFlags,
		checks: []func(*options) error{checkExclusive, checkRequired, checkMode, checkModel},
		run:    runSweep,
	}
}

func runSweep(ctx context.Context, p *program, o *options) error {
	if o.given["now-ms"] && record.LooksLikeSeconds(o.now, math.MaxInt64) {
		p.warn(fmt.Sprintf("--now-ms %d is in %s; a time in milliseconds has 13 digits today", o.now, time.UnixMilli(o.now).UTC().Format("January 2006")))
	}
	job := o.job()
	told := int64(0)
	job.Invalid = func(line *sweep.InvalidLine) {
		told++
		p.warn(line.Error() + " (kept)")
	}
	size := int64(-1)
	if o.input == "-" {
		job.Stdin = interruptible(ctx, p.stdin)
	} else {
		size = fileSize(o.input)
	}
	bar := newProgress(p.stderr, size, o.quiet)
	job.Progress = bar.add
	summary, err := sweep.Run(ctx, job)
	bar.stop()
	if err != nil {
		return causeOf(ctx, err)
	}
	if more := summary.Invalid - told; more > 0 {
		p.warn(fmt.Sprintf("%d more invalid lines (kept)", more))
	}
	for i, text := range summary.WouldRefuse {
		summary.WouldRefuse[i] = printable(text)
		p.warn("archive and delete would refuse: " + text)
	}
	err = p.result(summary.AppendJSON(nil))
	if err != nil && o.mode != sweep.DryRun {
		p.warn(fmt.Sprintf("the sweep is done, but its summary cannot be written: %v", err))
		return nil
	}
	return err
}

// job is the sweep that the options ask for.
func (o *options) job() sweep.Job {
	files := o.files
	files.Input = o.input
	return sweep.Job{
		Mode: o.mode, Policy: o.policy, NowMillis: o.now,
		Files: files, Options: o.transaction,
		Workers: o.workers, MaxPrune: o.maxPrune, MaxLineBytes: o.maxLineBytes,
	}
}

// causeOf puts the signal that cancelled ctx in the place of the bare news.
func causeOf(ctx context.Context, err error) error {
	if statusOf(err) == statusFailed && errors.Is(err, context.Canceled) {
		return context.Cause(ctx)
	}
	return err
}

// interruptible returns a reader of r whose reads end when ctx does: a read
// from a terminal or pipe cannot be taken back, only left alone.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	reader, writer := io.Pipe()
	go func() {
		_, err := io.Copy(writer, r)
		writer.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { writer.CloseWithError(context.Cause(ctx)) })
	return reader
}
