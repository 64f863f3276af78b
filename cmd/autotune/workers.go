package main

import (
	"context"
	"io"

	"autotune/tuner/compile"
	"autotune/tuner/device/cuda"
)

// workers are the roles in which this executable starts itself again.
func workers() map[string]func(context.Context, io.Reader, io.Writer) error {
	return map[string]func(context.Context, io.Reader, io.Writer) error{
		"compile": compile.Worker,
		"cuda":    cuda.Worker,
	}
}
