package tuner

import (
	"slices"
	"time"

	"autotune/space"
	"autotune/tuner/final"
	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

// A search with a target asks every so often what is left to gain, provided that enough is
// new. A replay, whose time is nothing to go by, counts its trials.
const (
	outlookInterval = 200 * time.Millisecond
	outlookNews     = 5 // outcomes
	replayedNews    = 15
)

// aheadChance is below which what the leader needs at the gates is compiled: the search is
// near its end, and the compilers are then not waited for.
const aheadChance = 0.15

// looking is when a search last asked what it may still gain.
type looking struct {
	space    *space.Space
	expected *strategy.Expected
	target   float64
	seed     uint64
	asking   bool    // an estimate is under way
	asked    int     // outcomes that it was told
	askedMS  float64 // the best of them
}

// due tells whether it is time to ask, with so many outcomes.
func (l *looking) due(outcomes, news int) bool { return !l.asking && outcomes >= l.asked+news }

// ask asks with these outcomes. What it returns works out what is left.
func (l *looking) ask(seen []strategy.Seen, bestMS float64) (work func() strategy.Prospect) {
	l.asking, l.asked, l.askedMS = true, len(seen), bestMS
	return func() strategy.Prospect { return strategy.Look(l.space, seen, l.expected, l.target, l.seed) }
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
	s.consider(s.looking.ask(s.course.outcomes, s.field.BestMS())())
}

// considerReplayed looks at a replay, such that it is repeatable to the last trial.
func (s *search) considerReplayed() {
	if s.Target > 0 && !s.can.Compiles && s.looking.due(len(s.course.outcomes), replayedNews) {
		s.consider(s.looking.ask(s.course.outcomes, s.field.BestMS())())
	}
}

// estimate has the chance worked out, beside the search, that something much faster is
// left, unless that is under way or little has come since.
func (s *search) estimate(prospects chan<- strategy.Prospect) {
	if !s.looking.due(len(s.course.outcomes), outlookNews) {
		return
	}
	work := s.looking.ask(slices.Clone(s.course.outcomes), s.field.BestMS())
	s.stages.group.Go(func() { prospects <- work() })
}

// consider ends the search if an estimate leaves nothing to gain.
func (s *search) consider(p strategy.Prospect) {
	floor := s.out.Ceilings.FloorMS(s.problem.Bytes)
	outlook := s.looking.answered(p.Chance, s.field.BestMS(), atRoofline(s.field.Best(), floor))
	if outlook == nil {
		return
	}
	s.out.Outlook = outlook
	if leader, ok := s.field.Leader(); ok && s.began && outlook.Chance < aheadChance && s.can.Compiles && s.Gating == final.GateWinner && s.near[leader] == nil {
		s.near[leader] = final.Ahead(s.stages.underway, s.subject(), s.field.Best().Configuration)
	}
	switch {
	case outlook.Over() && s.field.BestMS() < s.looking.askedMS: // what is beside it is not known
	case outlook.Over() && s.can.Compiles && s.course.polish(p):
	case outlook.Sure():
		s.end(Satisfied)
	case outlook.Over():
		s.end(AtRoofline)
	}
}

// atRoofline tells whether the best takes no longer than a copy of what the problem must
// move, as far as its interval tells.
func atRoofline(best *trial.Trial, floorMS float64) bool {
	return best != nil && best.Time.CI95[0] <= floorMS*(1+trial.Resolution)
}
