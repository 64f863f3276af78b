package final

import (
	"slices"
	"testing"

	"autotune/device/trial"
	"autotune/space"
	"autotune/space/expr"
)

// tried returns the trial of the configuration a=n, which was timed in the given number of rounds of finals.
func tried(n int64, rounds int, samples ...float64) trial.Trial {
	t := trial.Trial{Configuration: space.Configuration{Template: "plain", Values: space.Values{{Name: "a", Value: expr.Int(n)}}}}
	t.Status, t.FinalRounds = trial.OK, rounds
	t.SetSamples(samples, 1)
	return t
}

func TestDecide(t *testing.T) {
	lean := tried(3, 1, 1, 1.001, 1.002)
	lean.Resources.Registers = 16
	fat := tried(4, 1, 1, 1.001, 1.002)
	fat.Resources.Registers = 32
	wrong := tried(5, 1, 0.1, 0.1, 0.1)
	wrong.Fail(trial.WrongResult, "y differs")
	for _, c := range []struct {
		name   string
		trials []trial.Trial
		want   []int64 // values of a in the tie set, the winner first
	}{
		{"none", nil, nil},
		{"none that is right", []trial.Trial{wrong}, nil},
		{"the fastest, before the finals", []trial.Trial{tried(1, 0, 2, 2, 2), tried(2, 0, 1, 1, 1), tried(3, 0, 1, 1, 1)}, []int64{2}},
		{"apart", []trial.Trial{tried(1, 1, 2, 2, 2), tried(2, 1, 1, 1, 1)}, []int64{2}},
		{"fewest registers", []trial.Trial{wrong, fat, lean}, []int64{3, 4}},
		{"nearest to the default", []trial.Trial{tried(1, 1, 1, 1.001, 1.002), tried(7, 1, 1, 1.001, 1.002)}, []int64{7, 1}},
		{"order of the space", []trial.Trial{tried(2, 1, 1, 1.001, 1.002), tried(1, 1, 1, 1.001, 1.002)}, []int64{1, 2}},
		{"no finalist", []trial.Trial{tried(1, 0, 1.0015, 1.0015, 1.0015), tried(2, 1, 1, 1.001, 1.002)}, []int64{2}},
		{"wide intervals", []trial.Trial{tried(1, 1, 0.5, 1.04, 1.5), tried(2, 1, 0.5, 1, 1.5)}, []int64{2}},
	} {
		f := NewField(-1, []space.Configuration{tried(7, 0, 1).Configuration})
		for _, x := range c.trials {
			a, _ := x.Get("a")
			id, _ := a.AsInt()
			f.Enter(id, x)
		}
		winner, ties := f.Decide()
		var got []int64
		for _, tie := range ties {
			a, _ := tie.Get("a")
			n, _ := a.AsInt()
			got = append(got, n)
		}
		if !slices.Equal(got, c.want) || (winner == nil) != (c.want == nil) || winner != nil && winner.Key() != ties[0].Key() {
			t.Errorf("%s: %v of %v, want %v", c.name, winner, got, c.want)
		}
	}
}

// If the leader's trial is amended to a failure, another trial leads, and ByStatus is updated.
func TestAmend(t *testing.T) {
	f := NewField(2, nil)
	for i, ms := range []float64{3, 1, 2} {
		f.Enter(int64(i), tried(int64(i), 0, ms))
	}
	if id, ok := f.Leader(); !ok || id != 1 || f.BestMS() != 1 || f.Untuned() != &f.Trials[2] {
		t.Errorf("leader %d, %v", id, ok)
	}
	if !f.Behind(0) || f.Behind(1) || f.Behind(2) {
		t.Error("the slow one alone is behind: the others are the leader and the baseline")
	}
	f.amend(1, func(t *trial.Trial) { t.Fail(trial.Crashed, "late") })
	if id, ok := f.Leader(); !ok || id != 2 || f.ByStatus[trial.OK] != 2 || f.ByStatus[trial.Crashed] != 1 {
		t.Errorf("leader %d, %v, %v", id, ok, f.ByStatus)
	}
	f.amend(1, func(t *trial.Trial) { t.Status = trial.OK })
	if _, has := f.ByStatus[trial.Crashed]; has {
		t.Errorf("%v", f.ByStatus)
	}
}
