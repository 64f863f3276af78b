package tuner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/tuner/final"
)

// This file holds the steps after a search's loop, which confirm its winner: the math mode, the finals and gates, the
// rivals that the winner is compared with, and the winner in the cache.

// closing holds the state of the steps after a search's loop.
type closing struct {
	held   map[int64]device.Variant // binaries that the finals may need, by configuration
	near   map[int64]*final.Nearby  // neighbours of leading variants for the gates, by configuration
	waited time.Duration            // time of waiting for PyTorch's answer about the math mode
}

// hold keeps the binary of a finished configuration if its variant may take part in the finals.
func (c *closing) hold(f *final.Field, j job) {
	leader, ok := f.Leader()
	if j.variant.Binary == nil || j.trial.Status != trial.OK || !ok || f.Behind(j.id) {
		return
	}
	c.held[j.id] = j.variant
	if leader == j.id { // a new leader may put other variants behind
		maps.DeleteFunc(c.held, func(id int64, _ device.Variant) bool { return f.Behind(id) })
	}
}

// settleMode records who chose the problem's math mode. A search in another math mode than PyTorch's ends.
func (s *search) settleMode(c device.ModeChoice) {
	s.Mode = nil
	s.out.Problem.MathBy = c.By
	s.fail(c.Err)
}

// awaitMode waits for PyTorch's answer about the math mode. The time limit of the finals and gates does not include the
// wait for PyTorch.
func (c *closing) awaitMode(ctx context.Context, s *search) {
	if s.Mode == nil {
		return
	}
	s.view.show(Waiting)
	start := time.Now()
	select {
	case by := <-s.Mode:
		s.settleMode(by)
	case <-ctx.Done():
		s.end(Interrupted)
	}
	c.waited = time.Since(start)
}

// settleWinner waits for the math mode, then runs the finals and the gates. The winner is the one that Field.Decide
// returns after settleWinner.
func (c *closing) settleWinner(ctx context.Context, s *search) (err error) {
	c.awaitMode(ctx, s)
	if s.err != nil || s.out.Stop == Interrupted || !s.can.Compiles || s.field.Best() == nil || s.stages.session == nil {
		return s.err
	}
	s.view.show(Finals)
	began := s.view.started.Add(c.waited)
	ctx, cancel := whileThere(ctx, s.stages.pool, began, s.Time)
	defer cancel(nil)
	start := time.Now()
	verdict, err := final.Settle(ctx, s.field, final.Case{
		Subject: *s.subject, Nearby: c.near,
		Gating: s.Gating, Seed: s.Seed, Started: began, Limit: s.Time,
		Session: s.stages.session, Variants: c.held, Compilers: s.stages.workers(),
		Compile: func(ctx context.Context, id int64) (device.Variant, trial.Outcome, error) {
			j := s.stages.prepare(ctx, job{id: id})
			return j.variant, j.trial.Outcome, j.err
		},
		Amended: func(t trial.Trial) { s.lose(s.course.ledger.keep(t)) },
		Gate:    func() { s.view.show(Gate) },
	})
	s.out.Gates, s.out.Confirmation = verdict.Gates, verdict.Confirmation
	s.out.Spent.Finals = time.Since(start).Seconds()
	if cause := context.Cause(ctx); err != nil && isCancel(err) && errors.Is(cause, device.ErrGone) {
		return cause
	}
	return err
}

// whileThere returns a context that is cancelled when the search's time is up and its pool has no worker left, so
// that the finals do not wait for workers for ever.
func whileThere(
	ctx context.Context, pool device.Pool, began time.Time, limit time.Duration,
) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if pool == nil || limit <= 0 {
		return ctx, cancel
	}
	go func() {
		for next := time.After(time.Until(began.Add(limit))); ; next = time.After(policy.lookInterval) {
			select {
			case <-next:
			case <-ctx.Done():
				return
			}
			if len(pool.Workers()) == 0 {
				cancel(fmt.Errorf("the time is up, and no worker is there for the finals: %w", device.ErrGone))
			}
		}
	}()
	return ctx, cancel
}

// recall reads gates and ceilings from the winner's record in the cache. If recall has read the ceilings, a search with
// nothing left to evaluate needs no device.
func (s *search) recall() bool {
	record, err := s.course.ledger.winner()
	if err != nil || record == nil {
		return false
	}
	winner, _ := s.field.Decide()
	same := winner != nil && record.Winner.KernelDigest == winner.KernelDigest
	if s.can.Compiles && (record.Gates == nil || !same) {
		return false // this winner has not passed the gates
	}
	s.out.Gates, s.out.Ceilings = record.Gates, withBaselines(record.Ceilings, s.Baselines)
	return true
}

// crown stores the winner and the search's record in the cache. If only a part of the space was searched, crown does
// not replace a faster winner that the cache already holds.
func (s *search) crown(r *Result) error {
	if s.Only.IsZero() {
		return s.course.ledger.crown(r.Record)
	}
	switch kept, err := s.course.ledger.faster(s.subject.Problem, *r.Winner); {
	case err != nil:
		return fmt.Errorf("compare with the cache's winner: %w", err)
	case kept > 0:
		r.warn(fmt.Sprintf("the cache keeps the winner that it has, which is faster: %.4g ms", kept))
		return nil
	}
	return s.course.ledger.crown(r.Record)
}

// prepareRivals lets the rivals begin their slow preparations while the search goes on.
func (s *search) prepareRivals(ctx context.Context) {
	p, has := s.subject.Problem, s.subject.Device.Info().Limits.MemoryBytes // 0: unknown
	if s.Rivals != nil && s.can.Measures && (has == 0 || policy.besideRivals*p.MemoryBytes() < has) {
		s.Rivals.Prepare(ctx, p, s.Protocol)
	}
}

// compare times the rivals in turns with the winner. A rival that is absent or fails causes a warning, not an error.
func (s *search) compare(ctx context.Context) {
	if s.Rivals == nil || s.err != nil || ctx.Err() != nil || s.field.Best() == nil {
		return
	}
	if s.Unasked && (!s.can.Measures || s.compared()) {
		return
	}
	s.view.show(Beside)
	all, notes, err := final.Beside(ctx, *s.subject, s.field.Best().Configuration, s.Rivals)
	for _, text := range notes {
		s.out.warn(text)
	}
	var absent *final.AbsentError
	if err != nil && ctx.Err() == nil && !(s.Unasked && errors.As(err, &absent)) {
		s.out.warn(fmt.Sprintf("others were not timed beside the winner: %v", err))
	}
	s.out.addBaselines(all)
}

// compared reports whether an earlier search has already timed the rivals beside the same winner, in which case it adds
// their times to the result. `compared` returns false if this search has evaluated a variant of its own.
func (s *search) compared() bool {
	if s.began {
		return false
	}
	record, err := s.course.ledger.winner()
	if err != nil || record == nil || record.Winner.KernelDigest != s.field.Best().KernelDigest {
		return false
	}
	before := lists.Where(record.Baselines, func(b Baseline) bool { return b.Speedup > 0 })
	s.out.addBaselines(before)
	return len(before) > 0
}
