package tuner

import (
	"slices"
	"time"

	"autotune/space"
	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

// A search with a target asks every so often what is left to gain, provided that
// enough is new. A replay, whose time is nothing to go by, counts.
const (
	outlookInterval = 500 * time.Millisecond
	outlookNews     = 5 // outcomes
	replayedNews    = 15
)

// looking is what a search knows of what it may still gain. Only its loop touches
// it.
type looking struct {
	outlook *strategy.Outlook // nil: nothing is known
	asking  bool              // an estimate is under way
	asked   int               // outcomes that it was told
	askedMS float64           // the best of them
}

// considerKnown looks at what the store remembers before anything is evaluated,
// provided that a search of this strategy ended by itself: of trials from elsewhere
// it is not known how well they were chosen.
func (s *search) considerKnown() {
	if s.Target == 0 || s.resumed == 0 || s.Recheck || slices.ContainsFunc(s.first, func(id int64) bool { return s.begun[id] == 0 }) {
		return
	}
	_, record, ok, err := s.remembered()
	if err != nil || !ok || record.Outlook == nil || !record.Outlook.Over() || record.Strategy != s.Strategy {
		return
	}
	s.ceilings = record.Ceilings
	s.considerNow()
}

// considerReplayed looks at a replay, such that it is repeatable to the last trial.
func (s *search) considerReplayed() {
	if s.Target > 0 && !s.can.Compiles && len(s.outcomes) >= s.asked+replayedNews {
		s.considerNow()
	}
}

// considerNow waits for the estimate.
func (s *search) considerNow() {
	s.asked, s.askedMS = len(s.outcomes), s.BestMS()
	s.consider(strategy.Chance(s.space, s.outcomes, s.Target, s.Seed))
}

// estimate has the chance worked out that something much faster is left, unless
// that is under way or little has come since.
func (s *search) estimate() {
	if s.asking || len(s.outcomes) < s.asked+outlookNews {
		return
	}
	s.asking, s.asked, s.askedMS = true, len(s.outcomes), s.BestMS()
	s.stages.estimate(s.space, slices.Clone(s.outcomes), s.Target, s.Seed)
}

// polish has what differs from the best in one tunable evaluated before the search
// ends: the chance is of the target's few percent, and the last one is mostly there.
// It tells whether there is any such left. A replay is not told what to try, and
// what is remembered is of a search that did so.
func (s *search) polish() bool {
	leader, ok := s.Leader()
	if !ok || !s.can.Compiles || len(s.Trials) == s.resumed {
		return false
	}
	if len(s.first) == 0 {
		s.first = slices.DeleteFunc(s.space.Neighbours(leader, space.Hamming), func(id int64) bool { return s.begun[id] != 0 })
	}
	return len(s.first) > 0
}

// consider ends the search if that leaves nothing to gain. An estimate that was
// refuted while it was made says nothing.
func (s *search) consider(chance float64) {
	s.asking = false
	if s.BestMS()*s.Target < s.askedMS {
		return
	}
	s.outlook = &strategy.Outlook{Target: s.Target, Chance: chance, AtFloor: s.atRoofline()}
	switch {
	case s.outlook.Over() && s.polish():
	case s.outlook.Sure():
		s.end(Satisfied)
	case s.outlook.Over():
		s.end(AtRoofline)
	}
}

// atRoofline tells whether the best takes no longer than a copy of what the problem
// must move, as far as its interval tells.
func (s *search) atRoofline() bool {
	return s.Best() != nil && s.Best().Time.CI95[0] <= s.ceilings.FloorMS(s.problem.Bytes)*(1+trial.Resolution)
}
