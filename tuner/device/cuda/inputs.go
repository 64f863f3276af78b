package cuda

import (
	"fmt"
	"slices"

	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/operator"
)

// distributions of inputs, in the order that kernels.cu knows them.
var distributions = []string{"uniform01", "normal", "negative", "special"}

// symmetric is SYMMETRIC of kernels.cu: what weights are filled with.
const symmetric = 4

// fills says what the worker fills each tensor with. The seed of tensor t is the
// protocol's plus t.
func fills(tensors []operator.Argument, in device.Inputs) ([]wire.Fill, error) {
	drawn := slices.Index(distributions, in.Distribution)
	if drawn < 0 {
		return nil, fmt.Errorf("unknown input distribution %q; there are %v", in.Distribution, distributions)
	}
	all := make([]wire.Fill, len(tensors))
	for i, t := range tensors {
		all[i] = wire.Fill{Seed: in.Seed + uint32(i), Distribution: drawn, Scale: 1}
		if t.Role == operator.Weight {
			all[i].Distribution, all[i].Scale = symmetric, float32(t.Scale)
		}
	}
	return all, nil
}

// Generator returns the kernel that fills tensors, for tests that need the same
// numbers outside of a session, and the number that stands for each distribution
// in its arguments; weights are "symmetric". Launch it on any number of blocks
// of one dimension, on aligned memory:
//
//	fill(float* data, unsigned long long count, unsigned seed, int distribution, float scale)
//
// The seed of tensor t of a problem is the protocol's plus t.
func Generator() (operator.Kernel, map[string]int) {
	numbers := map[string]int{"symmetric": symmetric}
	for i, d := range distributions {
		numbers[d] = i
	}
	k := helperKernel()
	k.Entry = "fill"
	return k, numbers
}

// helperKernel is kernels.cu; all its entries come with the one it names.
func helperKernel() operator.Kernel {
	return operator.Kernel{Operator: "device", Template: "kernels", Entry: "compare", File: "kernels.cu", Source: kernels}
}
