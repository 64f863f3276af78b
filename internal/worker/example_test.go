package worker_test

import (
	"context"
	"errors"
	"fmt"

	"autotune/internal/worker"
)

// A worker answers requests in a process of its own. TestMain (in a program: main) calls worker.Dispatch, which in the
// worker's process runs the function called "test". The function "test" calls worker.Serve.
func ExampleCall() {
	ctx := context.Background()
	p, err := worker.Start(ctx, "test")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()

	a, err := worker.Call[order, answer](ctx, p, order{Do: "echo", Text: "hello"})
	fmt.Println(a.Text, err)

	// An error that the worker's function returns goes to the caller of Call, and the worker goes on.
	_, err = worker.Call[order, answer](ctx, p, order{Do: "fail", Text: "no such kernel"})
	fmt.Println(err)

	// A crash ends the worker but not its parent.
	_, err = worker.Call[order, answer](ctx, p, order{Do: "exit", Text: "the driver gave up"})
	var died *worker.DiedError
	fmt.Println(errors.As(err, &died), err)
	// Output:
	// hello <nil>
	// no such kernel
	// true worker test died (exit status 7): the driver gave up
}
