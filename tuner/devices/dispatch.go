package devices

import (
	"autotune/device/compile"
	"autotune/device/cuda"
	"autotune/internal/worker"
)

// Dispatch comes first in the main of a program that searches. Compilers and GPUs run in processes of their own,
// which are this executable, started again: there Dispatch does their work and does not return.
func Dispatch() {
	worker.Dispatch(map[string]worker.Func{"compile": compile.Worker, "cuda": cuda.Worker})
}
