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

// What a search does beside its loop to make sure of its winner: the math mode, the finals and the gates, the rivals
// that it is compared with, and the winner that the cache keeps.

// closing is what a search has for its finals and gates.
type closing struct {
	held   map[int64]device.Variant // compiled, by configuration: those that the finals may need
	near   map[int64]*final.Nearby  // what leaders will need at the gates, by configuration
	waited time.Duration            // for the math mode
}

// hold keeps a finished job's binary if the finals may need it.
func (c *closing) hold(f *final.Field, j job) {
	leader, ok := f.Leader()
	if j.variant.Binary == nil || j.trial.Status != trial.OK || !ok || f.Behind(j.id) {
		return
	}
	c.held[j.id] = j.variant
	if leader == j.id { // only then may others be behind now
		maps.DeleteFunc(c.held, func(id int64, _ device.Variant) bool { return f.Behind(id) })
	}
}

// settleMode takes note of who chose the problem's math mode. A search in another mode ends.
func (s *search) settleMode(c device.ModeChoice) {
	s.Mode = nil
	s.out.Problem.MathBy = c.By
	s.fail(c.Err)
}

// awaitMode waits until it is known who chose the mode. The judge has as much time as if that had taken none.
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

// settleWinner has the judge run the finals and the gates, once the math mode is known; the field then names the
// winner.
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

// whileThere is a context that ends when the time is up and the pool has no worker, so that nothing waits for one any
// longer.
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

// recall finds what an earlier search of the same provenance measured beside its trials, so that one with nothing left
// to evaluate needs no device.
func (s *search) recall() bool {
	record, err := s.course.ledger.winner()
	if err != nil || record == nil {
		return false
	}
	winner, _ := s.field.Decide()
	same := winner != nil && record.Winner.KernelDigest == winner.KernelDigest
	if s.can.Compiles && (record.Gates == nil || !same) {
		return false // this winner has not been through the gates
	}
	s.out.Gates, s.out.Ceilings = record.Gates, withBaselines(record.Ceilings, s.Baselines)
	return true
}

// crown keeps the winner and the record around it. The winner of a part of the space does not take the place of a
// faster one.
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

// prepareRivals has the rivals begin what takes long, while the search goes on.
func (s *search) prepareRivals(ctx context.Context) {
	p, has := s.subject.Problem, s.subject.Device.Info().Limits.MemoryBytes // 0: not known
	if s.Rivals != nil && s.can.Measures && (has == 0 || policy.besideRivals*p.MemoryBytes() < has) {
		s.Rivals.Prepare(ctx, p, s.Protocol)
	}
}

// compare times the rivals beside the winner. One that is not there, or fails, costs a warning.
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

// compared tells whether an earlier search has timed rivals beside this winner, and takes what it found. A search that
// evaluates anything compares anew.
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
