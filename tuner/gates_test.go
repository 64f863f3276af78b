package tuner_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/final"
)

// A variant that is wrong for some shape other than the searched one does not win, although it is the fastest. The
// variant's trial names the gate that it failed, and the next search does not try it again.
func TestGates(t *testing.T) {
	fastest := func(c space.Configuration) bool { return number(c, "a") == 4 && number(c, "b") == 3 }
	d := &fakeDevice{Evaluate: bowl}
	d.Check = func(c space.Configuration, p *operator.Problem, in device.Inputs, launches int) trial.Outcome {
		if fastest(c) && p.Shape[0]%2 == 1 {
			return trial.Outcome{Status: trial.WrongResult, Message: "y differs"}
		}
		return trial.Outcome{Status: trial.OK}
	}
	p := toyProblem(t)
	p.Operator.Inputs = []string{"uniform01", "negative"}
	s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
	r := search(t, p, d, tuner.Options{Store: s})
	i := slices.IndexFunc(r.Trials, func(t trial.Trial) bool { return t.Status == trial.WrongResult })
	if fastest(r.Winner.Configuration) || i < 0 || r.Trials[i].Message != "gate neighbour toy 63: y differs" {
		t.Errorf("winner %s, trials %+v", r.Winner.Configuration, r.Trials)
	}
	g := r.Gates // 10 inputs: three seeds of both distributions, and four extremes of uniform01
	if g == nil || g.Launches != 100 || !g.Exact || g.Inputs != 10 || len(g.Neighbours) == 0 || len(g.LeftOut) > 0 {
		t.Errorf("the winner passed %+v", g)
	}
	again := search(t, p, &fakeDevice{Evaluate: bowl}, tuner.Options{Store: s})
	if again.Winner.Configuration.String() != r.Winner.Configuration.String() || again.Gates == nil {
		t.Errorf("searched again: %+v", again)
	}
}

// If every variant fails at a gate, there is no winner.
func TestGatesLeaveNoWinner(t *testing.T) {
	d := &fakeDevice{Evaluate: bowl, Check: func(space.Configuration, *operator.Problem, device.Inputs, int) trial.Outcome {
		return trial.Outcome{Status: trial.WrongResult, Message: "sometimes wrong"}
	}}
	r, err := tuner.Search(t.Context(), toyProblem(t), d, tuner.Options{})
	if r == nil || r.Winner != nil || err == nil || !strings.Contains(err.Error(), "gate launches: sometimes wrong") {
		t.Errorf("%+v, %v; want no winner, and why", r, err)
	}
}

// The option Gating chooses whether every variant goes through the gates, only the winner, or none.
func TestGating(t *testing.T) {
	for gating, want := range map[final.Gating]int{final.GateAll: 4, final.GateWinner: 1, final.GateNone: 0} {
		passed := map[string]bool{}
		d := &fakeDevice{Evaluate: bowl, Check: func(c space.Configuration, _ *operator.Problem, _ device.Inputs, _ int) trial.Outcome {
			passed[c.String()] = true
			return trial.Outcome{Status: trial.OK}
		}}
		r, err := tuner.Search(t.Context(), toyProblem(t), d, tuner.Options{Budget: 4, Gating: gating})
		if err != nil || len(passed) != want || (r.Gates == nil) != (want == 0) {
			t.Errorf("%q: %d variants went through the gates, %v, gates %v; want %d", gating, len(passed), err, r.Gates, want)
		}
	}
}
