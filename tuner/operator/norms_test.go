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

// A block or two have all pieces of some rows, whose places are used again. Rows end within a piece.
func TestRowsAhead(t *testing.T) {
	d := openEmulator(t)
	limits := d.Info().Limits
	limits.SMs = 1
	for name, text := range map[string]string{"group_norm": "3x2x17002 groups=1 normal", "rms_norm": "4x70008x1 type=bf16 negative", "batch_norm": "4x3x20004 training=true normal"} {
		o, err := operator.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		p, distribution := problem(t, o, text, "fp32", limits)
		c := check{problem: p, distribution: distribution}
		for _, part := range partsOf(t, p) {
			for i := part.first; i < part.end && (part.template == "rows_ahead" || part.template == "rows_longer"); i++ {
				c.choices = append(c.choices, part.At(i))
			}
		}
		if len(c.choices) < 4 {
			t.Errorf("%s %s: rows_ahead has %d configurations", name, text, len(c.choices))
		}
		prove(t, d, c)
	}
}
