package cuda

import (
	"fmt"

	"autotune/tuner/device/cuda/wire"
)

// driverText names a GPU's driver as Info shows it.
func driverText(g wire.GPU) string {
	// The driver tells 13010 for CUDA 13.1.
	supported := fmt.Sprintf("CUDA %d.%d", g.CUDA/1000, g.CUDA%1000/10)
	if g.Driver == "" {
		return supported
	}
	return fmt.Sprintf("%s (%s)", g.Driver, supported)
}
