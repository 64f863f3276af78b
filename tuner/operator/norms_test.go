package operator_test

import (
	"fmt"
	"math/rand/v2"
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

// One multiprocessor has all pieces of some rows, whose places are used again. Rows and chunks end within a piece.
// Each value of each tunable is proven here, for blocks of a whole GPU that wait for each other are slow to emulate.
func TestRowsInPieces(t *testing.T) {
	inFull(t)
	d := openEmulator(t)
	limits := d.Info().Limits
	limits.SMs = 1
	rng := rand.New(rand.NewPCG(1, 2))
	for _, row := range []struct{ operator, template, problem string }{
		{"group_norm", "rows_ahead", "3x2x17002 groups=1 normal"},
		{"rms_norm", "rows_ahead", "4x70008x1 type=bf16 negative"},
		{"batch_norm", "rows_longer", "4x3x20004 training=true normal"},
	} {
		o, err := operator.Find(row.operator)
		if err != nil {
			t.Fatal(err)
		}
		p, distribution := problem(t, o, row.problem, "fp32", limits)
		c := check{problem: p, distribution: distribution}
		missing := valuesOf(o, row.template)
		for _, part := range partsOf(t, p) {
			for before := 0; part.template == row.template && len(missing) != before && len(missing) > 0; {
				before = len(missing)
				c.choices = appendMost(c.choices, part, missing, rng)
			}
		}
		prove(t, d, c)
		for value := range missing {
			t.Errorf("%s %s: no configuration has %s", row.operator, row.problem, value)
		}
	}
}

// valuesOf are those of a template's tunables.
func valuesOf(o *operator.Operator, name string) map[string]bool {
	all := map[string]bool{}
	for _, template := range o.Templates {
		for _, tunable := range template.Tunables {
			for _, v := range tunable.Values {
				if template.Name == name {
					all[fmt.Sprint(name, " ", tunable.Name, "=", v)] = true
				}
			}
		}
	}
	return all
}
