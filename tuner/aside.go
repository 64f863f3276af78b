package tuner

import (
	"fmt"

	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

// asideAfter is the harm that the variants of a template may do, and none end, before a
// search that has others leaves it alone: three crashes, each of which costs as much time
// as tens of variants that end, or two that hang, which cost seconds.
const asideAfter = 3

// harms is what a status counts; of others a variant has ended.
var harms = map[trial.Status]int{trial.Crashed: 1, trial.Timeout: 2}

// conduct is how the variants of a template behaved.
type conduct struct {
	harm  int
	first trial.Trial
	ended bool // one neither crashed nor hung
	told  bool // the user was told that it is left alone
}

// watch takes note of a trial's conduct.
func (s *search) watch(id int64, t trial.Trial) {
	part := s.space.PartOf(id)
	c := s.conducts[part]
	if c == nil {
		c = &conduct{first: t}
		s.conducts[part] = c
	}
	c.harm += harms[t.Status]
	c.ended = c.ended || harms[t.Status] == 0
}

// setAside tells whether a configuration is of a template that is left alone. If so, the
// strategy is told that it failed.
func (s *search) setAside(id int64) bool {
	c := s.conducts[s.space.PartOf(id)]
	if c == nil || c.ended || c.harm < asideAfter || s.Best() == nil {
		return false
	}
	if !c.told {
		c.told = true
		s.warnings = append(s.warnings, fmt.Sprintf("template %s is left alone: its variants crash or hang, and none ended; the first, %s: %s",
			c.first.Template, c.first.Status, c.first.Reason()))
	}
	s.strategy.Tell(id, strategy.Outcome{})
	return true
}
