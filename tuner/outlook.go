package tuner

import (
	"slices"
	"time"

	"autotune/space"
	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

// A search with a target asks every so often what is left to gain, provided that enough is
// new. A replay, whose time is nothing to go by, counts its trials.
const (
	outlookInterval = 500 * time.Millisecond
	outlookNews     = 5 // outcomes
	replayedNews    = 15
)

// looking is when a search last asked what it may still gain.
type looking struct {
	target  float64
	asking  bool    // an estimate is under way
	asked   int     // outcomes that it was told
	askedMS float64 // the best of them
}

// due tells whether it is time to ask, with so many outcomes.
func (l *looking) due(outcomes, news int) bool { return !l.asking && outcomes >= l.asked+news }

func (l *looking) ask(outcomes int, bestMS float64) {
	l.asking, l.asked, l.askedMS = true, outcomes, bestMS
}

// answered is the outlook that an estimate gives. It is nil if the estimate was refuted
// while it was made.
func (l *looking) answered(chance, bestMS float64, atFloor bool) *strategy.Outlook {
	l.asking = false
	if bestMS*l.target < l.askedMS {
		return nil
	}
	return &strategy.Outlook{Target: l.target, Chance: chance, AtFloor: atFloor}
}

// considerKnown looks at what the store remembers before anything is evaluated, provided
// that a search of this strategy ended by itself. Of trials from elsewhere it is not known
// how well they were chosen.
func (s *search) considerKnown() {
	untried := slices.ContainsFunc(s.course.first, func(id int64) bool { return s.course.begun[id] == 0 })
	if s.Target == 0 || s.course.resumed == 0 || s.Recheck || untried {
		return
	}
	var record Record
	found, err := s.course.ledger.Winner(&record)
	if err != nil || !found || record.Outlook == nil || !record.Outlook.Over() || record.Strategy != s.out.Strategy {
		return
	}
	s.out.Ceilings = record.Ceilings
	s.considerNow()
}

// considerReplayed looks at a replay, such that it is repeatable to the last trial.
func (s *search) considerReplayed() {
	if s.Target > 0 && !s.can.Compiles && s.looking.due(len(s.course.outcomes), replayedNews) {
		s.considerNow()
	}
}

// considerNow waits for the estimate.
func (s *search) considerNow() {
	s.looking.ask(len(s.course.outcomes), s.field.BestMS())
	s.consider(strategy.Chance(s.space, s.course.outcomes, s.Target, s.Seed))
}

// estimate has the chance worked out, beside the search, that something much faster is
// left, unless that is under way or little has come since.
func (s *search) estimate(chances chan<- float64) {
	if !s.looking.due(len(s.course.outcomes), outlookNews) {
		return
	}
	s.looking.ask(len(s.course.outcomes), s.field.BestMS())
	seen := slices.Clone(s.course.outcomes)
	s.stages.group.Go(func() { chances <- strategy.Chance(s.space, seen, s.Target, s.Seed) })
}

// consider ends the search if an estimate leaves nothing to gain.
func (s *search) consider(chance float64) {
	floor := s.out.Ceilings.FloorMS(s.problem.Bytes)
	outlook := s.looking.answered(chance, s.field.BestMS(), atRoofline(s.field.Best(), floor))
	if outlook == nil {
		return
	}
	s.out.Outlook = outlook
	switch {
	case outlook.Over() && s.polish():
	case outlook.Sure():
		s.end(Satisfied)
	case outlook.Over():
		s.end(AtRoofline)
	}
}

// polish has what differs from the best in one tunable evaluated before the search ends:
// the chance is of the target's few percent, and the last one is mostly there. It tells
// whether any such has no trial yet. A replay is not told what to try. What is remembered
// is of a search that did so.
func (s *search) polish() bool {
	leader, ok := s.field.Leader()
	if !ok || !s.can.Compiles || len(s.field.Trials) == s.course.resumed {
		return false
	}
	c := s.course
	beside := slices.DeleteFunc(s.space.Neighbours(leader, space.Hamming), func(id int64) bool {
		return s.field.Tried(id) || slices.Contains(c.theirs, id)
	})
	if len(c.first) == 0 {
		c.first = slices.DeleteFunc(slices.Clone(beside), func(id int64) bool { return c.begun[id] != 0 })
	}
	return len(c.first)+len(beside) > 0
}

// atRoofline tells whether the best takes no longer than a copy of what the problem must
// move, as far as its interval tells.
func atRoofline(best *trial.Trial, floorMS float64) bool {
	return best != nil && best.Time.CI95[0] <= floorMS*(1+trial.Resolution)
}
