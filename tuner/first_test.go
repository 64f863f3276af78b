package tuner_test

import (
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/tuner"
)

// FirstCompilations returns the kernels that a search of the problem tries before all others.
func TestFirstCompilations(t *testing.T) {
	for name, estimate := range map[string]string{"estimates": "    estimate: abs(a - 2) + abs(b - 4)\n", "none": ""} {
		p := toy.Problem(t, strings.Replace(toyOperator, "    launch:", estimate+"    launch:", 1), 64)
		device := &fakeDevice{Evaluate: bowl}
		var ahead []string
		for _, r := range tuner.FirstCompilations(t.Context(), p.Whole(), device, 3) {
			if r.Configuration.Template != "" {
				ahead = append(ahead, r.Configuration.Key())
			}
		}
		r := search(t, p, device, tuner.Options{Budget: len(ahead), Strategy: "random"})
		for _, x := range r.Trials {
			if !slices.Contains(ahead, x.Configuration.Key()) {
				t.Errorf("%s: tried %v, which is none of %v", name, x.Configuration, ahead)
			}
		}
		if want := map[string]int{"estimates": 4, "none": 1}[name]; len(ahead) != want {
			t.Errorf("%s: %v are compiled ahead; want %d", name, ahead, want)
		}
	}
}

// If a pooling window covers the whole image, a search first tries kernels that reduce one row at a time.
func TestWholeWindowsBeginAsRows(t *testing.T) {
	limits := operator.Limits{Arch: 90, SMs: 132, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 232448, WarpSize: 32}
	for name, parameters := range map[string]map[string]string{
		"avg_pool2d": {"kernel": "7", "type": "bf16"},
		"max_pool2d": {"kernel": "7", "stride": "1", "padding": "0"},
	} {
		o, err := operator.Find(name)
		must.OK(t, err)
		p, err := o.Bind(operator.Request{Shape: []int64{64, 2048, 7, 7}, Parameters: parameters}, limits)
		must.OK(t, err)
		first := tuner.FirstCompilations(t.Context(), p.Whole(), &fakeDevice{}, 1)[1] // index 0 is the reference
		if first.Configuration.Template != "rows" {
			t.Errorf("%s begins with %s", p, first.Configuration)
		}
	}
}
