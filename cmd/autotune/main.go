// Command autotune finds the fastest correct CUDA kernel for an operator and a
// shape on the GPU at hand.
//
//	autotune search conv2d --shape 16x16x1024x1024
//
// Each command is a file of this folder: flags in, library calls, printing out.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/internal/worker"
)

// sameSignal is how long after the first signal others count as the same one:
// timeout(1), for one, sends a process its signal twice, to it and to its group.
const sameSignal = 300 * time.Millisecond

func main() {
	worker.Dispatch(workers())
	os.Exit(run(os.Args))
}

// run is main without the process: it returns the exit code.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), endingSignals()...)
	// A second Ctrl-C ends the process at once, as the first asked for order. Until then, and
	// while the process ends in order, no signal may take its exit code.
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, stop) })
	err := dispatch(ctx, newApp(), args)
	if err == nil {
		return exitFound
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

// dispatch runs the command that the arguments name, or shows its help page.
func dispatch(ctx context.Context, app *cli.App, args []string) error {
	if len(args) > 1 && args[1] == completeWord {
		return printCandidates(os.Stdout, app, args[2:])
	}
	line := readArguments(app, args[1:])
	switch {
	case line.help || len(line.words()) == 1:
		return printHelp(os.Stdout, line)
	case line.fault != nil:
		return line.fault
	}
	if err := line.misplaced(); err != nil {
		return err
	}
	return app.RunContext(ctx, append(args[:1:1], line.words()...))
}
