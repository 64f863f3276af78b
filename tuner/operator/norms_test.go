package operator_test

import (
	"slices"
	"testing"

	"autotune/space"
	"autotune/tuner/operator"
)

// outlying fills rows with numbers about 20, some of them far from it, the first of each row and thread too.
const outlying = `extern "C" __global__ void layer_norm_fill(float* x, unsigned) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < OUTER * LENGTH) x[i] = 20.0f + (i * 2654435761u >> 9) * 0x1p-23f + (i % LENGTH < 40 || i % 4099 == 0 ? 5000.0f : 0.0f);
}
`

// Threads take distances to the first element that they meet, which may be far from the others.
func TestNormsOfElementsApart(t *testing.T) {
	o := withFills(t, "layer_norm", outlying, "role: input,  shape: [outer, length, inner]", "role: input,  shape: [outer, length, inner], fill: {kernel: fill.cu}")
	proven := proveSome(t, o, "2x40001x1 normal", "fp32", func(p *operator.Problem) []space.Configuration { return p.Defaults(t.Context()) })
	for _, name := range []string{"rows", "rows_apart", "rows_in_turn"} {
		if !slices.Contains(proven, name) {
			t.Errorf("%s does not serve it", name)
		}
	}
}
