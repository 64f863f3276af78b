// Package worker runs parts of the program in child processes of the same executable. A compiler, a GPU driver or a
// faulty kernel may hang or crash. Then it takes a replaceable process down, and not the search.
//
// The parent starts a worker by name with Start and talks to it with Call, one request and one response at a time.
// The child side is Dispatch, which main calls before anything else, and Serve, which answers requests with a plain
// function:
//
//	worker.Dispatch(map[string]worker.Func{"compile": compile.Worker})
//
// Requests and responses are gob values on the child's standard input and output. What the child writes on its
// standard error is kept (its beginning and its end) and told when it dies.
//
// A worker lives in a process group of its own, so Ctrl-C at a terminal reaches only the parent. The parent decides
// what becomes of its workers. It never outlives its parent.
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
)

// parentCheck is how often a worker looks whether its parent still lives.
const parentCheck = 500 * time.Millisecond

// Func is a worker: it reads requests from in and writes responses to out until in ends.
type Func = func(ctx context.Context, in io.Reader, out io.Writer) error

// Dispatch runs the worker that the environment names and exits the process;
// it returns at once in a process that is no worker.
//
// Whatever else writes to standard output in a worker (a driver, a kernel's
// printf) lands on standard error, where it cannot garble the responses.
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

// exitWithParent ends this process soon after its parent died. The kernel's own signal for that is faster where it
// exists; this one works everywhere and also when the parent died before the signal could be asked for.
func exitWithParent(parent int) {
	for os.Getppid() == parent {
		time.Sleep(parentCheck)
	}
	os.Exit(1)
}
