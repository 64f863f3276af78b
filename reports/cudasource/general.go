package cudasource

import (
	"fmt"
	"slices"
	"strings"

	"autotune/space/expr"
	"autotune/tuner/operator"
)

// Determining are the names of what determines a problem: dimensions, then parameters'
// components.
func Determining(o *operator.Operator) []string {
	names := slices.Clone(o.Shape)
	for _, s := range o.Parameters {
		names = append(names, s.Names...)
	}
	return names
}

// Sizes are the problem's values that general kernels know, in their order: numbers and
// truths of what determines it, then those derived.
func Sizes(p *operator.Problem) []string {
	names := Determining(p.Operator)
	for _, d := range p.Operator.Derived {
		names = append(names, d.Name)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		kind := p.Values[name].Kind()
		return kind != expr.KindInt && kind != expr.KindBool
	})
}

// EveryElement is the general kernel around an operator's general function. It reads as many
// tensors, called t0 and so on, all of elements of one type, and writes one. Linkage is `extern "C" ` or nothing.
func EveryElement(linkage, entry, written string, read []string, function string) string {
	taken, passed := make([]string, len(read)), make([]string, len(read))
	for i, element := range read {
		taken[i], passed[i] = fmt.Sprintf("%s* __restrict__ t%d", element, i), fmt.Sprintf("t%d", i)
	}
	return fmt.Sprintf(`
%s__global__ void %s(%s, %s* __restrict__ written,
                              const Sizes sizes, long long elements) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += step)
        written[i] = %s(%s, sizes, i);
}
`, linkage, entry, strings.Join(taken, ", "), written, function, strings.Join(passed, ", "))
}
