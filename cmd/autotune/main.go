// Command autotune finds the fastest correct CUDA kernel for an operator and a shape on the GPU at hand.
//
//	autotune search conv2d --shape 16x16x1024x1024
//
// Each file of this folder is a command, or commands of one subject: flags in, library calls, printing out.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"autotune/device"
	"autotune/internal/output"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/cudasource"
	"autotune/tuner/devices"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

// sameSignal is how long after the first signal others count as the same one:
// timeout(1), for one, sends a process its signal twice, to it and to its group.
const sameSignal = 300 * time.Millisecond

func main() {
	devices.Dispatch()
	os.Exit(run(os.Args))
}

// run is main without the process: it returns the exit code.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), endingSignals()...)
	// A second Ctrl-C ends the process at once, as the first asked for order. Until then, and
	// while the process ends in order, no signal may take its exit code.
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, stop) })
	app := newApp()
	err := app.RunContext(ctx, append(args[:1:1], flagsFirst(app, args[1:])...))
	if err == nil {
		return exitFound
	}
	var ended *endedError
	if errors.As(err, &ended) { // the program has said itself what there was to say
		return ended.code
	}
	fmt.Fprintln(os.Stderr, "autotune: "+explain(err))
	return exitCode(err)
}

// endingSignals are those that ask the program to end in order: Ctrl-C, kill, and
// the terminal being closed, unless nohup keeps that from the program.
func endingSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// Exit codes, part of the command line's contract (docs/cli.md).
const (
	exitFound       = 0
	exitNoVariant   = 1
	exitBadInput    = 2
	exitDevice      = 3
	exitInterrupted = 130
)

type coded struct {
	code int
	err  error
}

func (c *coded) Error() string { return c.err.Error() }
func (c *coded) Unwrap() error { return c.err }

func badInput(err error) error { return withCode(exitBadInput, err) }

func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &coded{code, err}
}

// exitCode finds the exit code of an error. An error without a mark is of the user's
// input, unless it comes from a device.
func exitCode(err error) int {
	var c *coded
	var damaged *store.DamagedError
	var none *winners.NoneError
	var interrupted *batch.InterruptedError
	var notAll *batch.NotAllError
	switch {
	case errors.Is(err, context.Canceled): // whatever it was that could not be finished
		return exitInterrupted
	case errors.As(err, &damaged):
		return exitBadInput
	case errors.As(err, &interrupted):
		return exitInterrupted
	case errors.As(err, &notAll):
		if notAll.Some {
			return exitNoVariant
		}
		return exitCode(notAll.Last)
	case errors.As(err, &none), errors.Is(err, cudasource.ErrSearchAgain): // an edited operator has no winner any more
		return exitNoVariant
	case errors.As(err, &c):
		return c.code
	case errors.Is(err, tuner.ErrNoVariant):
		return exitNoVariant
	case devices.IsTrouble(err):
		return exitDevice
	}
	return exitBadInput
}

// explain turns an error into the one line that the user reads.
func explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return output.Line(strings.NewReplacer("?\n", "? ", "\n", "; ").Replace(strings.TrimSpace(device.Reason(err))))
}

func versionText() string {
	return fmt.Sprintf("%s %s %s/%s\n", tool(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func version() string {
	info, _ := debug.ReadBuildInfo() // a binary of a module has it
	return info.Main.Version
}

func tool() string { return "autotune " + version() }

// stdout is where results go. Names and messages of files, devices and compilers pass here.
var stdout = output.Plain(os.Stdout)
