package devices

import (
	"autotune/internal/worker"
	"autotune/tuner/compile"
	"autotune/tuner/device/cuda"
)

// Dispatch comes first in the main of a program that searches. Compilers and GPUs run in
// processes of their own, which are this executable, started again: there Dispatch does their
// work and does not return.
func Dispatch() {
	worker.Dispatch(map[string]worker.Func{"compile": compile.Worker, "cuda": cuda.Worker})
}
