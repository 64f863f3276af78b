package main

import (
	"context"
	"io"

	"autotune/tuner/compile"
)

// workers are the roles in which this executable starts itself again.
func workers() map[string]func(context.Context, io.Reader, io.Writer) error {
	all := map[string]func(context.Context, io.Reader, io.Writer) error{"compile": compile.Worker}
	addCUDAWorker(all)
	return all
}
