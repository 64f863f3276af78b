package tuner

import (
	"autotune/tuner/final"
	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

// account is what a search knows of its trials. Only the search's loop touches
// it.
type account struct {
	*final.Field
	outcomes []strategy.Seen // of the field's trials, as the strategy was told
	begun    map[int64]int   // turns, from 1, of configurations that were proposed or remembered
	resumed  int
}

// begin gives a configuration the next turn.
func (a *account) begin(id int64) { a.begun[id] = len(a.begun) + 1 }

// enter adds the trial of a configuration and returns what a strategy learns
// from it.
func (a *account) enter(id int64, t trial.Trial) strategy.Outcome {
	stands, ok := a.Enter(id, t)
	o := strategy.Outcome{OK: ok, Score: stands.Median}
	a.outcomes = append(a.outcomes, strategy.Seen{ID: id, Outcome: o})
	return o
}
