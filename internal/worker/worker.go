// Package worker runs parts of the program in child processes of the same executable. A compiler, a GPU driver or a
// faulty kernel may hang or crash. Then it takes a replaceable process down, and not the search.
//
// The parent starts a worker by name with Start and talks to it with Call, one request and one response at a time, which
// are gob values. The child's side is Dispatch, which main calls first, and Serve, which answers with a function:
//
//	worker.Dispatch(map[string]worker.Func{"compile": compile.Worker})
//
// What the child writes on its standard error is kept (its beginning and its end) and told when it dies. It is in a
// process group of its own, so Ctrl-C at a terminal reaches only the parent. It ends with its parent: when its input
// does, and on Linux at once.
package worker

import (
	"context"
	"fmt"
	"io"
	"os"
)

const nameVariable = "AUTOTUNE_WORKER"

// Func is a worker: it reads requests from in and writes responses to out until in ends.
type Func = func(ctx context.Context, in io.Reader, out io.Writer) error

// Dispatch runs the worker that the environment names and exits the process; in a process that is no worker it returns
// at once. Whatever else writes to standard output in a worker, as a kernel's printf, lands on standard error, where it
// cannot garble the responses.
func Dispatch(workers map[string]Func) {
	name := os.Getenv(nameVariable)
	if name == "" {
		return
	}
	os.Unsetenv(nameVariable) // programs that the worker itself starts are no workers
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
