package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// progress draws one line on a terminal while the work lasts: how much is
// done, how fast, and how long it will take. It is silent for short work and
// where nobody looks.
type progress struct {
	out   io.Writer
	total int64 // bytes, or -1 where unknown
	start time.Time
	done  atomic.Int64
	end   chan struct{}
	drawn sync.WaitGroup
}

// Work that is over within patience is not worth a line.
const (
	patience = 500 * time.Millisecond
	pace     = 200 * time.Millisecond
)

func newProgress(out io.Writer, total int64, never bool) *progress {
	p := &progress{out: out, total: total, start: time.Now(), end: make(chan struct{})}
	if !never && isTerminal(out) {
		p.drawn.Go(p.draw)
	}
	return p
}

func (p *progress) add(bytes int64) { p.done.Add(bytes) }

// stop takes the line away.
func (p *progress) stop() {
	close(p.end)
	p.drawn.Wait()
}

func (p *progress) draw() {
	wait := time.NewTimer(patience)
	defer wait.Stop()
	shown := false
	for {
		select {
		case <-p.end:
			if shown {
				fmt.Fprint(p.out, "\r\x1b[K")
			}
			return
		case <-wait.C:
			fmt.Fprintf(p.out, "\r%s\x1b[K", progressText(p.done.Load(), p.total, time.Since(p.start)))
			shown = true
			wait.Reset(pace)
		}
	}
}

// progressText says how far the work has come, for example
// "312 of 587 MB, 940 MB/s, 1 s left".
func progressText(done, total int64, elapsed time.Duration) string {
	const mega = 1e6
	rate := float64(done) / elapsed.Seconds()
	if total < done {
		return fmt.Sprintf("%.0f MB, %.0f MB/s", float64(done)/mega, rate/mega)
	}
	text := fmt.Sprintf("%.0f of %.0f MB, %.0f MB/s", float64(done)/mega, float64(total)/mega, rate/mega)
	if rate > 0 {
		text += fmt.Sprintf(", %.0f s left", float64(total-done)/rate)
	}
	return text
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// fileSize returns the size of the file at path, or -1.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}
