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

	"autotune/internal/worker"
)

func main() {
	worker.Dispatch(workers())
	os.Exit(run(os.Args))
}

// run is main without the process: it returns the exit code.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second Ctrl-C ends the process at once, as the first asked for order.
	context.AfterFunc(ctx, stop)
	app := newApp()
	err := app.RunContext(ctx, flagsFirst(app, args))
	if err == nil {
		return exitFound
	}
	if message := explain(err); message != "" {
		fmt.Fprintln(os.Stderr, "autotune: "+message)
	}
	return exitCode(err)
}
