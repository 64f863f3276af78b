package cuda

import (
	"autotune/tuner/device"
	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
)

// fills says what the worker fills each tensor with. The seed of argument t is the
// protocol's plus t.
func fills(arguments []operator.Argument, in device.Inputs) ([]elements.Fill, error) {
	all := make([]elements.Fill, len(arguments))
	for i, a := range arguments {
		if !a.Role.Filled() {
			continue
		}
		var err error
		if all[i], err = elements.FillOf(a, in.Distribution, in.Seed+uint32(i)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Generator returns the kernel that fills tensors of f32, for tests that need the
// same numbers outside of a session, and the number that stands for each
// distribution in its arguments; weights are "symmetric". Launch it on any number
// of blocks of one dimension, on aligned memory:
//
//	fill(float* data, unsigned long long count, unsigned seed, int distribution, float scale)
//
// The seed of tensor t of a problem is the protocol's plus t.
func Generator() (operator.Kernel, map[string]int) {
	numbers := map[string]int{}
	for i, d := range operator.Distributions() {
		numbers[d] = i
	}
	// A weight has a fill whatever the search's inputs are.
	weight, _ := elements.FillOf(operator.Argument{Role: operator.Weight, Type: operator.F32}, "", 0)
	numbers["symmetric"] = weight.Distribution
	k := helperKernel()
	k.Launches = operator.Launches{{Entry: "fill"}}
	return k, numbers
}
