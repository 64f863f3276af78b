// Package worker runs parts of the program in child processes of the same executable. A compiler, a GPU driver or a
// faulty kernel may hang or crash. Then it takes a replaceable process down, and not the search.
//
// The parent starts a worker by name with Start and talks to it with Call, one request and one response at a time, which
// are gob values. The child's side is Dispatch, which main calls first, and Serve, which answers with a function:
//
//	worker.Dispatch(map[string]worker.Func{"compile": compile.Worker})
//
// What the child writes on its standard error is kept (its beginning and its end) and told when it dies. It is in a
// process group of its own, so Ctrl-C at a terminal reaches only the parent, and it never outlives its parent.
package worker

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

const (
	nameVariable   = "AUTOTUNE_WORKER"
	parentVariable = "AUTOTUNE_WORKER_PARENT"
	parentCheck    = 500 * time.Millisecond // how often a worker looks whether its parent still lives
)

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
	parent, _ := strconv.Atoi(os.Getenv(parentVariable))
	// Programs that the worker itself starts are no workers.
	os.Unsetenv(nameVariable)
	os.Unsetenv(parentVariable)

	if err := run(name, parent, workers[name]); err != nil {
		fmt.Fprintf(os.Stderr, "worker %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(name string, parent int, work Func) error {
	if work == nil {
		return fmt.Errorf("no worker is called %q", name)
	}
	out, err := claimStdout()
	if err != nil {
		return fmt.Errorf("keep standard output for responses: %w", err)
	}
	if parent > 0 {
		go exitWithParent(parent)
	}
	return work(context.Background(), os.Stdin, out)
}

// exitWithParent ends this process soon after its parent died, where the system has no signal for that, and if the
// parent died before the signal could be asked for.
func exitWithParent(parent int) {
	for os.Getppid() == parent {
		time.Sleep(parentCheck)
	}
	os.Exit(1)
}
