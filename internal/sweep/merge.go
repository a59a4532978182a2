package sweep

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// engine takes blocks through reading, deciding and merging.
type engine struct {
	*task
	ctx     context.Context
	workers int
	job     *Job
	grown   func() bool // has the input grown since it was opened?

	retained, pruned, audit io.Writer // nil where not wanted

	reading sync.Mutex
	reader  blockReader

	free    chan *block
	big     chan []byte // the memory of the big block, while there is none
	stopped atomic.Bool
	stop    chan struct{}

	merging sync.Mutex // guards the fields below, but not the outputs
	busy    bool       // somebody is writing outputs, and will see what comes in
	ready   []*block   // decided blocks by seq modulo the number of blocks
	next    int        // the seq to be written next

	// Touched only by whoever is busy, and after all is done.
	err     error
	counts  Counts
	seconds suspects
	last    *block // the last line without newline, if any
	told    int    // invalid lines reported
}

// run sweeps all blocks and returns the error that comes first in file order.
func (e *engine) run() error {
	blocks := 2 * e.workers
	if e.workers == 1 {
		blocks = 1
	}
	e.ready = make([]*block, blocks)
	e.free = make(chan *block, blocks)
	e.big = make(chan []byte, 1)
	e.big <- nil
	e.reader.admit = e.admit
	e.stop = make(chan struct{})
	for range blocks {
		e.free <- new(block)
	}
	var helpers sync.WaitGroup
	for range e.workers - 1 {
		helpers.Go(e.work)
	}
	e.work()
	helpers.Wait()
	return e.err
}

// work is one worker.
func (e *engine) work() {
	d := e.newDecider()
	for {
		select {
		case b := <-e.free:
			if !e.read(b) {
				e.free <- b // the others end by it too
				return
			}
			if b.err == nil {
				d.decide(b)
			}
			e.merge(b)
		case <-e.stop:
			return
		}
	}
}

// read fills b with the next block of the input. False means that there is none.
func (e *engine) read(b *block) bool {
	e.reading.Lock()
	defer e.reading.Unlock()
	return !e.stopped.Load() && e.reader.next(b)
}

// admit waits until no other block is big. The one that is gets written without
// the reader's lock, so that this ends.
func (e *engine) admit(b *block) []byte {
	select {
	case memory := <-e.big:
		b.big = true
		return memory
	case <-e.stop:
		return nil
	}
}

// merge hands in a decided block, and writes out whatever is next in order
// unless another worker is about it.
func (e *engine) merge(b *block) {
	e.merging.Lock()
	defer e.merging.Unlock()
	e.ready[b.seq%len(e.ready)] = b
	if e.busy {
		return
	}
	e.busy = true
	for {
		slot := &e.ready[e.next%len(e.ready)]
		b := *slot
		if b == nil {
			break
		}
		*slot = nil
		e.next++
		e.merging.Unlock()
		if e.err == nil {
			e.settle(e.emit(b))
		}
		if b.big && b != e.last {
			e.big <- b.buf
			*b = block{}
		}
		if b != e.last {
			e.free <- b
		}
		e.merging.Lock()
	}
	e.busy = false
}

// settle ends the sweep if err is an error.
func (e *engine) settle(err error) {
	if err == nil {
		err = context.Cause(e.ctx)
	}
	if err != nil {
		e.err = err
		e.stopped.Store(true)
		close(e.stop)
	}
}

// emit passes on what was decided about a block.
func (e *engine) emit(b *block) error {
	if b.err != nil {
		return b.err
	}
	if b.kind == lastLine {
		e.last = b
		e.free <- new(block) // in its place
		return e.checkLast(b)
	}
	if b.fault != nil {
		return failed(b.fault)
	}
	for _, out := range []struct {
		to   io.Writer
		data []byte
	}{{e.retained, b.retained}, {e.pruned, b.pruned}, {e.audit, b.audit}} {
		if out.to == nil || len(out.data) == 0 {
			continue
		}
		if _, err := out.to.Write(out.data); err != nil {
			return err
		}
	}
	e.tell(b)
	if e.job.Progress != nil {
		e.job.Progress(int64(len(b.data)))
	}
	return nil
}

// checkLast reports an invalid last line, unless it is still being written.
func (e *engine) checkLast(b *block) error {
	if b.fault == nil {
		return nil
	}
	b.fault.Torn = true
	if e.grown() {
		return nil
	}
	return failed(b.fault)
}

// tell adds a block's counts to the totals and passes on its news.
func (e *engine) tell(b *block) {
	e.counts.add(b.counts)
	e.seconds.merge(b.seconds)
	if e.job.Visit != nil {
		for _, d := range b.decisions {
			e.job.Visit(d)
		}
	}
	if e.job.Invalid != nil {
		for _, line := range b.invalid[:min(len(b.invalid), tellAtMost-e.told)] {
			e.told++
			e.job.Invalid(line)
		}
	}
}
