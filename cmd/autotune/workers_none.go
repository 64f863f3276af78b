//go:build !cuda

package main

import (
	"context"
	"io"
)

// addCUDAWorker has nothing to add: this binary was built without the device.
func addCUDAWorker(map[string]func(context.Context, io.Reader, io.Writer) error) {}
