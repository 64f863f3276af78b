// Package worker runs parts of the program in child processes of the same executable. A compiler, a GPU driver or a
// faulty kernel may hang or crash, which in a worker ends a replaceable process instead of the search.
//
// The parent starts a worker by name with Start. Call sends the worker one request at a time and receives the response;
// both are gob values. In the child, main first calls Dispatch, and the worker answers requests with Serve:
//
//	worker.Dispatch(map[string]worker.Func{"compile": compile.Worker})
//
// If the child dies, the error that Call returns quotes the beginning and the end of the child's standard error. The
// child has a process group of its own, so Ctrl-C at a terminal reaches only the parent. When the parent dies, so does
// the child: on Linux at once, on other systems when its standard input ends.
package worker

import (
	"context"
	"fmt"
	"io"
	"os"
)

const nameVariable = "AUTOTUNE_WORKER"

// Func is the main function of a worker: it reads requests from in and writes responses to out until in ends.
type Func = func(ctx context.Context, in io.Reader, out io.Writer) error

// Dispatch runs the worker that the environment names and exits the process; in a process that is not a worker it
// returns at once. In a worker, other output to standard output, such as a kernel's printf, goes to standard error,
// where it cannot corrupt the responses.
func Dispatch(workers map[string]Func) {
	name := os.Getenv(nameVariable)
	if name == "" {
		return
	}
	os.Unsetenv(nameVariable) // programs that this worker starts are not workers
	if err := run(name, workers[name]); err != nil {
		fmt.Fprintf(os.Stderr, "worker %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(name string, work Func) error {
	if work == nil {
		return fmt.Errorf("no worker is called %q", name)
	}
	out, err := claimStdout()
	if err != nil {
		return fmt.Errorf("keep standard output for responses: %w", err)
	}
	return work(context.Background(), os.Stdin, out)
}
