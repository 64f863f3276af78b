package operator_test

import (
	"slices"
	"testing"

	"autotune/operator"
	"autotune/space"
)

// outlying fills rows with numbers about 20, some of them far from it, the first of each row and thread too.
const outlying = `extern "C" __global__ void layer_norm_fill(float* x, unsigned) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < OUTER * LENGTH) x[i] = 20.0f + (i * 2654435761u >> 9) * 0x1p-23f + (i % LENGTH < 40 || i % 4099 == 0 ? 5000.0f : 0.0f);
}
`

// tiny fills rows with numbers whose reciprocal is more than a float holds.
const tiny = `extern "C" __global__ void normalize_fill(float* x, unsigned) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < OUTER * LENGTH) x[i] = (1 + i % 7) * 1e-40f;
}
`

// Threads take distances to the first element that they meet, which may be far from the others. A norm may be so small
// that its reciprocal is infinite.
func TestNormsOfUnusualRows(t *testing.T) {
	for _, test := range []struct{ operator, fill, problem string }{
		{"layer_norm", outlying, "2x40001x1 normal"},
		{"normalize", tiny, "2x40001x1 p=0 eps=0 normal"},
	} {
		t.Run(test.operator, func(t *testing.T) {
			o := withFills(t, test.operator, test.fill, "role: input,  shape: [outer, length, inner]", "role: input,  shape: [outer, length, inner], fill: fill.cu")
			proven := proveSome(t, o, test.problem, "fp32", func(p *operator.Problem) []space.Configuration { return p.Defaults(t.Context()) })
			for _, name := range []string{"rows", "rows_apart", "rows_in_turn"} {
				if !slices.Contains(proven, name) {
					t.Errorf("%s does not serve it", name)
				}
			}
		})
	}
}
