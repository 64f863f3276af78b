package family

import (
	"testing"

	"autotune/tuner/trial"
)

// A candidate's error is the largest of all rounds at all shapes, and one that fails has no time.
func TestLaps(t *testing.T) {
	outcome := func(worst float64) trial.Outcome {
		o := trial.Outcome{Status: trial.OK, Measured: trial.Measured{MaxAbsError: worst}}
		o.SetSamples([]float64{1, 2, 3}, 1)
		return o
	}
	of := func(candidate int, errors ...float64) *timed {
		s := &timed{Candidates: []int{candidate}, Laps: make([]lap, 1)}
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
	if l.ms(wholly) != 2 || l.Batch != 1 {
		t.Error(l)
	}
	if l.add(trial.Outcome{Status: trial.WrongResult}); l.Status != trial.WrongResult || len(l.Rounds) > 0 {
		t.Error(l)
	}
}
