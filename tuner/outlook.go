package tuner

import (
	"maps"
	"slices"
	"time"

	"autotune/device/trial"
	"autotune/space"
	"autotune/tuner/final"
	"autotune/tuner/strategy"
)

// looking holds the state of a search's estimates of what a longer search could still gain.
type looking struct {
	space    *space.Space
	expected *strategy.Expected
	target   float64
	seed     uint64
	began    time.Time // start of the search, less the time of a resumed one; zero: its clock means nothing
	asking   bool      // an estimate is being computed
	asked    int       // number of outcomes in the last estimate
	askedMS  float64   // the best time among these outcomes
	hoped    bool      // waited long enough for variants with low estimates
}

// promises reports whether a configuration that is being compiled or evaluated is worth waiting for, because its
// estimate is clearly lower than the estimates of all configurations in `more`.
func (l *looking) promises(begun map[int64]bool, more []int64) bool {
	return !l.hoped && l.expected.PromiseMore(slices.Collect(maps.Keys(begun)), more)
}

func (l *looking) due(outcomes, news int) bool { return !l.asking && outcomes >= l.asked+news }

// ask begins an estimate of what the search may still gain, based on the outcomes in `seen`. The function that ask
// returns computes the estimate, and may run in another goroutine.
func (l *looking) ask(seen []strategy.Seen, bestMS float64) (work func() strategy.Prospect) {
	l.asking, l.asked, l.askedMS = true, len(seen), bestMS
	return func() strategy.Prospect { return strategy.Look(l.space, seen, l.expected, l.target, l.seed) }
}

// answered returns the outlook (what the search may still gain) from an estimate, or nil if a much faster trial has
// refuted the estimate meanwhile.
func (l *looking) answered(chance, bestMS float64, atFloor bool) *strategy.Outlook {
	l.asking = false
	if bestMS*l.target < l.askedMS {
		return nil
	}
	o := &strategy.Outlook{Target: l.target, Chance: chance, AtFloor: atFloor}
	if !l.began.IsZero() {
		o.Seconds = time.Since(l.began).Seconds()
	}
	return o
}

// considerKnown estimates the remaining gain before anything is evaluated, if an earlier search with the same
// strategy ended because little was left to gain. The trials of a search with another strategy may not have been
// chosen well enough to estimate the remaining gain.
func (s *search) considerKnown() {
	untried := slices.ContainsFunc(s.course.first, func(id int64) bool { return s.course.begun[id] == 0 })
	if s.Target == 0 || s.course.resumed == 0 || untried {
		return
	}
	record, err := s.course.ledger.winner()
	if err != nil || record == nil || record.Outlook == nil || !record.Outlook.Over() || record.Strategy != s.out.Strategy {
		return
	}
	s.out.Ceilings = record.Ceilings
	s.looking.began = s.looking.began.Add(-time.Duration(record.Outlook.Seconds * float64(time.Second)))
	s.consider(s.looking.ask(s.course.outcomes, s.field.BestMS())())
}

func (s *search) consider(p strategy.Prospect) {
	floor := s.out.Ceilings.FloorMS(s.subject.Problem.Bytes)
	outlook := s.looking.answered(p.Chance, s.field.BestMS(), atRoofline(s.field.Best(), floor))
	if outlook == nil {
		return
	}
	s.out.Outlook = outlook
	leader, ok := s.field.Leader()
	gated := s.began && s.can.Compiles && s.Gating == final.GateWinner
	if ok && gated && outlook.Near() && s.closing.near[leader] == nil {
		s.closing.near[leader] = final.Ahead(s.stages.underway, *s.subject, s.field.Best().Configuration)
	}
	switch {
	case outlook.Over() && s.field.BestMS() < s.looking.askedMS: // the new best trial's neighbours are untried
	case outlook.Over() && s.can.Compiles && s.course.polish(p):
	case outlook.Sure():
		s.end(Satisfied)
	case outlook.Over():
		s.end(AtRoofline)
	}
}

// atRoofline reports whether the confidence interval of the best time reaches down to the time of a copy of all bytes
// that the problem must move.
func atRoofline(best *trial.Trial, floorMS float64) bool {
	return best != nil && best.Time.CI95[0] <= floorMS*(1+trial.Resolution)
}
