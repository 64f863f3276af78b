package tuner

import (
	"slices"

	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

// account is what a search knows of its trials. Only the search's loop touches
// it.
type account struct {
	trials   []trial.Trial
	outcomes []strategy.Seen // of trials, as the strategy was told
	begun    map[int64]int   // turns, from 1, of configurations that were proposed or remembered
	byStatus map[trial.Status]int
	resumed  int
	best     int // index into trials, -1: none
	untuned  int // likewise

	// measure computes what follows from what was measured, standing how a trial
	// stands among the others: see score.go.
	measure  func(*trial.Trial)
	standing func(trial.Trial) (trial.Timing, bool)

	baseline int64 // the untuned default's configuration, -1: none
}

// newAccount is empty. The baseline is the first of the defaults, if there are any.
func newAccount(defaults []int64) account {
	baseline := int64(-1)
	if len(defaults) > 0 {
		baseline = defaults[0]
	}
	return account{begun: map[int64]int{}, byStatus: map[trial.Status]int{}, best: -1, untuned: -1, baseline: baseline}
}

// begin gives a configuration the next turn.
func (a *account) begin(id int64) { a.begun[id] = len(a.begun) + 1 }

// enter adds the trial of a configuration and returns what a strategy learns
// from it.
func (a *account) enter(id int64, t trial.Trial) strategy.Outcome {
	a.measure(&t)
	a.trials = append(a.trials, t)
	a.byStatus[t.Status]++
	at := len(a.trials) - 1
	if id == a.baseline {
		a.untuned = at
	}
	a.contend(at)
	stands, ok := a.standing(t)
	o := strategy.Outcome{OK: ok, Score: stands.Median}
	a.outcomes = append(a.outcomes, strategy.Seen{ID: id, Outcome: o})
	return o
}

// amend changes the trial of a configuration and finds the best anew; it
// returns the trial as it is then.
func (a *account) amend(id int64, change func(*trial.Trial)) trial.Trial {
	t := a.trialOf(id)
	if a.byStatus[t.Status]--; a.byStatus[t.Status] == 0 {
		delete(a.byStatus, t.Status)
	}
	change(t)
	a.measure(t)
	a.byStatus[t.Status]++
	a.best = -1
	for i := range a.trials {
		a.contend(i)
	}
	return *t
}

// trialOf is the trial of a configuration that has one.
func (a *account) trialOf(id int64) *trial.Trial {
	return &a.trials[slices.IndexFunc(a.outcomes, func(s strategy.Seen) bool { return s.ID == id })]
}

// contend makes a trial the best, if it is.
func (a *account) contend(at int) {
	stands, ok := a.standing(a.trials[at])
	if ok && (a.best < 0 || stands.Median < a.bestStands().Median) {
		a.best = at
	}
}

// bestStands is how the best so far stands.
func (a *account) bestStands() trial.Timing {
	stands, _ := a.standing(a.trials[a.best])
	return stands
}

// leader is the configuration that stands best so far.
func (a *account) leader() (id int64, ok bool) {
	if a.best < 0 {
		return 0, false
	}
	return a.outcomes[a.best].ID, true
}

// bestMS is the median time of the best so far, 0 if there is none.
func (a *account) bestMS() float64 {
	if a.best < 0 {
		return 0
	}
	return a.trials[a.best].Time.Median
}
