package pytorch

import (
	"slices"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator"
)

// An exported module must check a template's condition again, for the GPU on which the module runs.
func TestServes(t *testing.T) {
	o, err := operator.Find("conv2d")
	must.OK(t, err)
	for when, want := range map[string][]string{
		"": {"return True"},
		"arch >= 80 and c % 8 == 0 and math == 'tf32'": {
			"arch = 10 * gpu.major + gpu.minor", "c = 16", "math = 'fp32'",
			"return bool(arch >= 80 and c % 8 == 0 and math == 'tf32')"},
		"gcd(stride_h, 4) == 1": {"stride_h = 1", "return bool(gcd(stride_h, 4) == 1)"},
		"ceil_div(h_out, 2) > sm_count and not bias": {
			"bias = False", "h_out = 1022", "sm_count = gpu.multi_processor_count", "return bool(ceil_div(h_out, 2) > sm_count and not bias)"},
	} {
		w := winners(t, o, operator.Request{Shape: []int64{16, 16, 1024, 1024}})[0]
		changed, _ := o.Template(w.Kernel.Template)
		before := changed.When
		changed.When = nil
		if when != "" {
			changed.When = &operator.Formula{Text: when}
		}
		v := view{}
		must.OK(t, v.serves(w))
		changed.When = before
		if !slices.Equal(v.Serves, want) {
			t.Errorf("%q: got %q, want %q", when, v.Serves, want)
		}
	}
}

func TestFormatted(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                  `f"plain"`,
		`a "b" \ {c} of {d+1}`:   `f"a \"b\" \\ {c} of {d+1}"`,
		`{1 if m == "x" else 2}`: `f"{1 if m == 'x' else 2}"`,
	} {
		if got := formatted(text); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
