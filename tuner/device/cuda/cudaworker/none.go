//go:build !cuda

// Package cudaworker is the process that uses the GPU. This binary was built
// without it, and says so when it is asked for a device.
package cudaworker

import (
	"context"
	"io"

	"autotune/internal/worker"
	"autotune/tuner/device/cuda/wire"
)

// Run answers every request with what to do to get a worker.
func Run(ctx context.Context, in io.Reader, out io.Writer) error {
	return worker.Serve(ctx, in, out, func(context.Context, wire.Request) (wire.Response, error) {
		return wire.Response{Fault: &wire.Fault{
			Kind:    wire.NoDevice,
			Message: "this autotune was built without the tag cuda: build it with make (or go build -tags cuda)",
		}}, nil
	})
}
