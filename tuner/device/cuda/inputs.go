package cuda

import (
	"autotune/tuner/device"
	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
)

// fills says what the worker fills each tensor with.
func fills(arguments []operator.Argument, in device.Inputs) ([]elements.Fill, error) {
	return elements.FillsOf(arguments, in.Distribution, in.Seed)
}
