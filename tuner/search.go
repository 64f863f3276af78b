package tuner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"autotune/space"
	"autotune/tuner/device"
	"autotune/tuner/final"
	"autotune/tuner/operator"
)

// ErrNoVariant means that the search ended without one correct variant.
var ErrNoVariant = errors.New("no valid variant")

// search is one running Search. One goroutine owns it: it alone touches the strategy, the
// trials and the one reason to stop, out.Stop.
type search struct {
	Options
	problem *operator.Problem
	device  device.Device
	can     device.Properties
	space   *space.Space
	started time.Time

	field   *final.Field // the trials, and which of them leads
	course  *course      // what is tried next
	stages  *stages      // compilers and the device
	looking looking      // what may be left to gain

	out   Record                   // the outcome, as far as it is known
	held  map[int64]device.Variant // compiled, by configuration: those that the finals may need
	phase Phase
	began bool  // the stages work
	late  bool  // far beyond its time without a winner: given up
	err   error // ended the search
	lost  error // ended it, too: the store cannot keep trials
}

// Search finds the fastest correct configuration of a problem on a device.
//
// Cancelling ctx ends the search early and is not an error: the Result says Interrupted and
// holds what was found so far. ErrNoVariant comes with a Result, too, whose trials say what
// went wrong. So does the error of a store that could not keep them: the search ends there.
// Any other error means that the device or the compiler could not go on.
func Search(ctx context.Context, p *operator.Problem, d device.Device, o Options) (*Result, error) {
	s, err := newSearch(ctx, p, d, o.withDefaults(p, d))
	if err != nil {
		return nil, err
	}
	err = s.run(ctx)
	s.lose(s.course.ledger.Close())
	if err != nil {
		return nil, err
	}
	r := s.result()
	switch {
	case s.lost != nil:
		return r, s.lost
	case r.Winner != nil:
		return r, s.crown(r)
	case r.Stop == Interrupted:
		return r, nil
	}
	return r, fmt.Errorf("%s: %w", p, r.noVariant(s.Options, s.late, s.stages.open))
}

// run is the search. It tries configurations until there is a reason to stop and nothing is
// under way, and then has the judge make sure of the winner. The stages around it compile
// and evaluate. A device or compiler that cannot go on ends it with that error.
func (s *search) run(ctx context.Context) error {
	start := time.Now()
	s.considerKnown()
	if s.ended() && s.recall() {
		return nil
	}
	s.began = true
	s.stages.start(ctx)
	deadline, look := timers(s.Options, start, !s.can.Compiles)
	chances := make(chan float64, 1)
	var last <-chan time.Time // when the search ends without a winner
	idle := time.NewTicker(progressInterval)
	defer idle.Stop()
	if s.can.Compiles {
		s.show(Preparing)
	}
	for s.feed() {
		toDevice, next := s.stages.next()
		if s.Objective.Name == "" { // else a slow one may be the best
			next.best = s.field.BestMS()
		}
		var others <-chan time.Time // when to look for what other searches found
		if s.out.Stop == "" && s.stages.underWay() == 0 {
			others = time.After(lookInterval)
		}
		select {
		case <-others:
		case toDevice <- next:
			s.stages.sent()
		case o := <-s.stages.opened:
			s.open(o)
		case j := <-s.stages.compiled:
			s.take(j)
		case j := <-s.stages.evaluated:
			s.stages.onDevice--
			s.finish(j)
		case <-deadline:
			s.end(TimeSpent)
			last = time.After(max(s.Time, leastGrace))
		case <-last:
			s.giveUp()
		case <-idle.C:
			s.show(s.phase)
		case <-look:
			s.estimate(chances)
		case chance := <-chances:
			s.consider(chance)
		case <-ctx.Done():
			s.end(Interrupted)
		}
	}
	if s.err == nil && s.out.Stop != Interrupted && s.out.Stop != CacheFailed && !s.late {
		s.err = s.settleWinner(ctx)
	}
	s.stages.close()
	s.collect()
	s.out.Breakdown.close(start, &s.stages.log, s.stages.workers(), s.stages.devices())
	if ctx.Err() != nil && isCancel(s.err) {
		s.end(Interrupted)
		return nil
	}
	return s.err
}
