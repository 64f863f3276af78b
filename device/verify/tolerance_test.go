package verify

import (
	"testing"

	"autotune/operator"
)

// A mean of large numbers is smaller than they are, and as inexact. A softmax does not grow with its inputs.
func TestToleranceOf(t *testing.T) {
	of := func(at operator.Type, atol float64) (a operator.Argument) {
		a.Type, a.ATol = at, atol
		return a
	}
	for _, tt := range []struct {
		name, distribution string
		argument           operator.Argument
		largest, want      float64
	}{
		{"as the operator says", "normal", of(operator.F32, 1e-6), 1e9, 1e-6},
		{"mean", operator.Large, of(operator.F32, 1e-6), 0x1p47, 1e-6 * 0x1p50},
		{"sum", operator.Large, of(operator.F32, 1e-6), 0x1p55, 1e-6 * 0x1p55},
		{"softmax", operator.Large, of(operator.F32, 1e-6), 1, 1e-6},
		{"norm of rows", operator.Large, of(operator.F32, 0x1p-20), 32, 0x1p-15},
		{"f16", operator.Large, of(operator.F16, 1e-3), 0x1p6, 1e-3 * 0x1p9},
		{"squares that vanish", operator.Tiny, of(operator.F32, 1e-30), 0, leastSquared},
		{"exact", operator.Tiny, of(operator.F32, 0), 0, 0},
		{"integers", operator.Large, of(operator.I32, 0), 0x1p50, 0},
	} {
		if got := ToleranceOf(tt.argument, tt.distribution, tt.largest); got != tt.want {
			t.Errorf("%s: %g, want %g", tt.name, got, tt.want)
		}
	}
}
