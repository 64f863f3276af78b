//go:build !cuda

package cuda

import (
	"fmt"

	"autotune/device"
	"autotune/device/gpu"
)

var errTag = fmt.Errorf("this autotune was built without the tag cuda: build it with make (or go build -tags cuda): %w", device.ErrNone)

func (driver) List() ([]device.Info, error)   { return nil, errTag }
func (driver) Open(int, int) (gpu.GPU, error) { return nil, errTag }

// Exit does nothing, because a binary without the driver launches no kernels for a profiler.
func Exit() {}
