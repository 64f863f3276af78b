// Package cuda drives NVIDIA's GPUs for package gpu, through gorgonia.org/cu and, where
// that falls short, the driver's own interface; NVML tells how a GPU is.
//
// It needs the build tag cuda, which make sets. Built without the tag its driver finds no GPU, and advises to set it.
package cuda

import "autotune/device/gpu"

// Driver is NVIDIA's driver.
func Driver() gpu.Driver { return driver{} }

type driver struct{}
