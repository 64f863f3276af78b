package tuner_test

import (
	"path/filepath"
	"testing"
	"time"

	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/final"
	"autotune/tuner/store"
	"autotune/tuner/strategy"
)

// hilly returns a toy problem with 1600 configurations.
func hilly(t *testing.T, n int64) *operator.Problem { return toy.Problem(t, wideToy(40), n) }

// slowly returns the function f with a delay of a few milliseconds, as an evaluation on a GPU would have.
func slowly(f func(space.Configuration) (trial.Outcome, error)) func(space.Configuration) (trial.Outcome, error) {
	return func(c space.Configuration) (trial.Outcome, error) {
		time.Sleep(3 * time.Millisecond)
		return f(c)
	}
}

func TestSearchEndsWhenNothingIsLeft(t *testing.T) {
	d := &fakeDevice{Evaluate: slowly(bowl)}
	kept, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "c.db"), store.Options{})
	must.OK(t, err)
	defer kept.Close()
	o := tuner.Options{Store: kept, Target: strategy.Target}
	r := search(t, hilly(t, 64), d, o)
	if r.Stop != tuner.Satisfied || r.Winner.Time.Median != 1 || len(r.Trials) > 1000 {
		t.Fatalf("stop %q after %d trials with %g ms; want target, few and 1", r.Stop, len(r.Trials), r.Winner.Time.Median)
	}
	if got := r.Outlook; got == nil || !got.Sure() || got.Target != o.Target || got.AtFloor {
		t.Errorf("outlook %+v, want a low chance", got)
	}
	tried := map[string]bool{}
	for _, t := range r.Trials {
		tried[t.Configuration.String()] = true
	}
	sp, err := hilly(t, 64).Space(t.Context())
	must.OK(t, err)
	winner, _ := sp.Index(r.Winner.Configuration)
	for _, id := range sp.Neighbours(winner) {
		steps := 0
		for k, place := range sp.Choice(id) {
			steps += max(place-sp.Choice(winner)[k], sp.Choice(winner)[k]-place)
		}
		if c := sp.At(id); steps == 1 && !tried[c.String()] {
			t.Errorf("%s, next to the winner, was not tried", c)
		}
	}
	// When the same search is repeated, it needs no device, and its estimate of what it may still gain includes the
	// time of the first search. A search without a target does not end because of its outlook, i.e. the estimate of
	// what it may still gain.
	opened, trials, seconds := d.Opened, len(r.Trials), r.Outlook.Seconds
	r, err = tuner.Search(t.Context(), hilly(t, 64), d, o)
	if err != nil || r.Stop != tuner.Satisfied || len(r.Trials) != trials || d.Opened != opened {
		t.Errorf("again: stop %q with %d trials, %d before, device opened %d times (%v)", r.Stop, len(r.Trials), trials, d.Opened, err)
	}
	if got := r.Outlook; got == nil || got.Seconds < seconds {
		t.Errorf("again: outlook %+v, want one of a search of at least the %g s of the first", got, seconds)
	}
	o.Strategy = "random"
	r, err = tuner.Search(t.Context(), hilly(t, 64), d, o)
	if err != nil || len(r.Trials) == trials {
		t.Errorf("another strategy evaluates nothing: stop %q (%v)", r.Stop, err)
	}
	trials = len(r.Trials)
	r, err = tuner.Search(t.Context(), hilly(t, 64), d, tuner.Options{Store: kept, Budget: trials + 20})
	if err != nil || r.Stop != tuner.BudgetSpent || len(r.Trials) != trials+20 || r.Outlook != nil {
		t.Errorf("without a target: stop %q with %d trials, outlook %v (%v)", r.Stop, len(r.Trials), r.Outlook, err)
	}
}

// In this search, the best variant takes 1 ms. The problem moves a billion elements, or 8 GB, and a copy of 8 GB takes
// 8 ms, so the best variant is at the roofline.
func TestSearchKnowsTheRoofline(t *testing.T) {
	d := &fakeDevice{Evaluate: slowly(bowl)}
	r := search(t, hilly(t, 1e9), d, tuner.Options{Target: strategy.Target})
	if r.Stop != tuner.Satisfied && r.Stop != tuner.AtRoofline || r.Outlook == nil || !r.Outlook.AtFloor {
		t.Errorf("stop %q, outlook %+v; want one at the roofline", r.Stop, r.Outlook)
	}
}

// A search in which every trial is faster than the one before goes on until its time limit.
func TestSearchGoesOnWhileItGains(t *testing.T) {
	ms := 1e6
	d := &fakeDevice{Evaluate: slowly(func(space.Configuration) (trial.Outcome, error) {
		ms *= 0.97
		return took(ms), nil
	})}
	r := search(t, hilly(t, 64), d, tuner.Options{Target: strategy.Target, Time: 3 * time.Second, Gating: final.GateNone})
	if r.Stop != tuner.TimeSpent || r.Outlook != nil && r.Outlook.Over() {
		t.Errorf("stop %q, outlook %+v; want time, with more to come", r.Stop, r.Outlook)
	}
}
