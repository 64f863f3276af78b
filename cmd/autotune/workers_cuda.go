//go:build cuda

package main

import (
	"context"
	"io"

	"autotune/tuner/device/cuda"
)

func addCUDAWorker(all map[string]func(context.Context, io.Reader, io.Writer) error) {
	all["cuda"] = cuda.Worker
}
