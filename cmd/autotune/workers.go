package main

import (
	"autotune/internal/worker"
	"autotune/tuner/compile"
	"autotune/tuner/device/cuda"
)

// workers are the roles in which this executable starts itself again.
func workers() map[string]worker.Func {
	return map[string]worker.Func{
		"compile": compile.Worker,
		"cuda":    cuda.Worker,
	}
}
