package operator_test

import (
	"testing"

	"autotune/internal/test/endurance"
	"autotune/internal/test/torchvectors"
	"autotune/operator"
)

// The tolerance of an expression lets pass neither zeros nor the input nor the answer to other
// numbers, whatever the magnitude of outputs.
func TestWrongAnswersOfExpressionsAreRefused(t *testing.T) {
	o := find(t, "elementwise")
	d := openEmulator(t)
	for _, word := range endurance.Some([]string{"f32", "bf16", "f16"}, 1) {
		for _, f := range []string{"gelu(x)", "tanh(x)*1e-3", "sigmoid(x)", "(x+3)*2"} {
			r := operator.Request{Shape: []int64{1, 1, 256}, Parameters: map[string]string{"f": f, "type": word}}
			p, err := o.Bind(r, d.Info().Limits)
			must(t, err)
			k, err := p.Reference()
			must(t, err)
			b := compileFor(t, d, k)
			answer := func(first int) (x, y []float32) {
				for i := range 256 {
					x = append(x, float32((i*37+first)%256)/64-2) // a number of each type
				}
				return x, runKernel(t, d, p, k, b, map[string]torchvectors.Floats{"x": x})
			}
			x, want := answer(1)
			_, other := answer(77)
			for what, wrong := range map[string][]float32{"zeros": make([]float32, len(want)), "the input": x, "the answer to other numbers": other} {
				right := 0
				for i := range want {
					if closeTo(p.Output(), float64(wrong[i]), float64(want[i])) {
						right++
					}
				}
				if right > len(want)/8 {
					t.Errorf("%s: %s are right in %d of %d elements", p, what, right, len(want))
				}
			}
		}
	}
}
