// Command autotune finds the fastest correct CUDA kernel for an operator and a shape on the GPU at hand.
//
//	autotune search conv2d --shape 16x16x1024x1024
//
// Each file of this folder implements one command or a few related ones: it reads flags, calls the library and prints
// the results.
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

// sameSignal is how long after the first signal further signals count as the same one. timeout(1), for example, sends
// its signal twice: to the process and to its process group.
const sameSignal = 300 * time.Millisecond

func main() {
	devices.Dispatch()
	os.Exit(run(os.Args))
}

// run executes the command line and returns the exit code with which main exits.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), endingSignals()...)
	// The first Ctrl-C asks the program to save its results and stop; a second Ctrl-C ends the program at once. A
	// signal that arrives twice within sameSignal counts once, so that the program can still choose its exit code.
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, stop) })
	app := newApp()
	err := app.RunContext(ctx, append(args[:1:1], flagsFirst(app, args[1:])...))
	if err == nil {
		return exitFound
	}
	var ended *endedError
	if errors.As(err, &ended) { // the program has printed its own error
		return ended.code
	}
	fmt.Fprintln(os.Stderr, "autotune: "+explain(err))
	return exitCode(err)
}

// endingSignals returns the signals on which the program saves its results and stops: those of Ctrl-C, of kill and of a
// closed terminal. endingSignals omits SIGHUP, the signal of a closed terminal, if nohup made the process ignore
// SIGHUP.
func endingSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// The following exit codes of the command line are documented in docs/cli.md.
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

// exitCode returns the exit code for an error. Errors without an assigned code mean bad input, unless a device caused
// them.
func exitCode(err error) int {
	var c *coded
	var damaged *store.DamagedError
	var none *winners.NoneError
	var interrupted *batch.InterruptedError
	var notAll *batch.NotAllError
	switch {
	case errors.Is(err, context.Canceled): // whatever was interrupted
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
	case errors.As(err, &none), errors.Is(err, cudasource.ErrSearchAgain): // an edited operator has lost its winner
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
	info, _ := debug.ReadBuildInfo() // a binary built from a module has build info
	return info.Main.Version
}

func tool() string { return "autotune " + version() }

// stdout prints results without control characters, since names and messages come from files, devices and compilers.
var stdout = output.Plain(os.Stdout)
