package cuda

import (
	"fmt"

	"autotune/tuner/operator"
)

// distributions of inputs, in the order that kernels.cu knows them.
var distributions = []string{"uniform01", "normal", "negative", "special"}

// symmetric is SYMMETRIC of kernels.cu: what weights are filled with.
const symmetric = 4

func distributionNumber(name string) (int, error) {
	for i, d := range distributions {
		if d == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown input distribution %q; there are %v", name, distributions)
}

// Generator is the kernel that fills tensors, for who needs the same numbers
// elsewhere, and the numbers that its argument distribution knows distributions
// by; weights are "symmetric". It is launched on blocks of one dimension, any
// number of them, and aligned memory:
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
