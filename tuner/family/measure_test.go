package family

import (
	"testing"

	"autotune/device/trial"
	"autotune/internal/lists"
)

// A candidate's error is the largest of all rounds at all shapes, and one that fails has no time.
func TestLaps(t *testing.T) {
	outcome := func(worst float64) trial.Outcome {
		o := trial.Outcome{Status: trial.OK, Measured: trial.Measured{MaxAbsError: worst}}
		o.SetSamples([]float64{1, 2, 3}, 1)
		return o
	}
	of := func(candidate int, errors ...float64) *timed {
		s := &timed{Candidates: []int{candidate}, Laps: make([]lap, 2)}
		for _, worst := range errors {
			s.Laps[0].add(outcome(worst))
		}
		return s
	}
	run := &tuning{samples: []*timed{of(3, 1e-7, 0), of(4, 1)}, heldOut: []*timed{of(3, 2e-7)}}
	for candidate, want := range map[int]float64{3: 2e-7, 4: 1, 5: 0} {
		if got := run.maxAbsError(candidate); got != want {
			t.Errorf("candidate %d: %g, want %g", candidate, got, want)
		}
	}
	l := run.samples[0].Laps[0]
	if l.ms() != 2 || l.Batch != 1 {
		t.Error(l)
	}
	if l.add(trial.Outcome{Status: trial.WrongResult}); l.Status != trial.WrongResult || len(l.Samples) > 0 {
		t.Error(l)
	}
}

// In the first round candidates race against somewhat more than the fastest so far takes. The second is no race.
func TestFarBehind(t *testing.T) {
	f, _ := tiles(t, nil)
	type evaluation struct{ best, ms float64 }
	var all []evaluation
	f.opener = openedSlab{slab{raced: func(best, ms float64) { all = append(all, evaluation{best, ms}) }}}
	if _, err := f.timeAll(t.Context(), f.plan.Samples[:1], lists.Places(len(f.candidates))); err != nil {
		t.Fatal(err)
	}
	fastest := 0.0
	for i, e := range all {
		want := farBehind * fastest
		if i >= len(f.candidates) {
			want = 0
		}
		if e.best != want {
			t.Errorf("evaluation %d: against %v; want %v", i, e.best, want)
		}
		if fastest == 0 || e.ms < fastest {
			fastest = e.ms
		}
	}
	if len(all) <= len(f.candidates) {
		t.Errorf("%d evaluations of %d candidates", len(all), len(f.candidates))
	}
}
