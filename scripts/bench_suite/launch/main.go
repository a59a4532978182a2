//go:build unix

// Command launch runs a command and prints what it cost as one JSON object.
//
// The operating system counts the memory of whoever starts a process as that
// process's own until it has become the command: this program is small, so that
// the peak memory of small commands can be seen.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// printed holds the beginning of what a command prints.
type printed []byte

const enough = 1 << 16

func (p *printed) Write(b []byte) (int, error) {
	*p = append(*p, b[:min(len(b), enough-len(*p))]...)
	return len(b), nil
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: launch COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	var output printed
	command := exec.Command(os.Args[1], os.Args[2:]...)
	command.Stdout, command.Stderr = &output, &output
	started := time.Now()
	err := command.Run()
	wall := time.Since(started)
	state := command.ProcessState
	if state == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	report := map[string]any{
		"wall": wall.Seconds(), "cpu": (state.UserTime() + state.SystemTime()).Seconds(),
		"memory": peakMiB(state), "status": state.ExitCode(), "printed": string(output),
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		os.Exit(1)
	}
}

// peakMiB returns the greatest memory that the process held at a time.
func peakMiB(state *os.ProcessState) float64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	peak := float64(usage.Maxrss)
	if runtime.GOOS == "darwin" { // bytes there, kibibytes elsewhere
		peak /= 1024
	}
	return peak / 1024
}
