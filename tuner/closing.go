package tuner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/tuner/final"
)

// What a search does beside its loop to make sure of its winner: the math mode, the finals and the gates, the rivals that
// it is compared with, and the winner that the cache keeps.

// settleMode takes note of who chose the problem's math mode. A search in another mode ends.
func (s *search) settleMode(c device.ModeChoice) {
	s.Mode = nil
	s.out.Problem.MathBy = c.By
	s.fail(c.Err)
}

// awaitMode waits until it is known who chose the mode. The judge has as much time as if that had taken none.
func (s *search) awaitMode(ctx context.Context) {
	if s.Mode == nil {
		return
	}
	s.show(Waiting)
	start := time.Now()
	select {
	case c := <-s.Mode:
		s.settleMode(c)
	case <-ctx.Done():
		s.end(Interrupted)
	}
	s.waited = time.Since(start)
}

// settleWinner has the judge run the finals and the gates, once the math mode is known; the field then names the
// winner.
func (s *search) settleWinner(ctx context.Context) (err error) {
	s.awaitMode(ctx)
	if s.err != nil || s.out.Stop == Interrupted || !s.can.Compiles || s.field.Best() == nil || s.stages.session == nil {
		return s.err
	}
	s.show(Finals)
	began := s.started.Add(s.waited)
	ctx, cancel := whileThere(ctx, s.stages.pool, began, s.Time)
	defer cancel(nil)
	start := time.Now()
	verdict, err := final.Settle(ctx, s.field, final.Case{
		Subject: *s.subject, Nearby: s.near,
		Gating: s.Gating, Seed: s.Seed, Started: began, Limit: s.Time,
		Session: s.stages.session, Variants: s.held, Compilers: s.stages.workers(),
		Compile: func(ctx context.Context, id int64) (device.Variant, trial.Outcome, error) {
			j := s.stages.prepare(ctx, job{id: id})
			return j.variant, j.trial.Outcome, j.err
		},
		Amended: func(t trial.Trial) { s.lose(s.course.ledger.keep(t)) },
		Gate:    func() { s.show(Gate) },
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
	if s.Recheck || err != nil || record == nil {
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
	kept, better, err := s.keptBetter(*r.Winner)
	switch {
	case err != nil:
		return fmt.Errorf("compare with the cache's winner: %w", err)
	case better:
		r.warn(fmt.Sprintf("the cache keeps the winner that it has, which is faster: %.4g ms", kept.Median))
		return nil
	}
	return s.course.ledger.crown(r.Record)
}

// keptBetter compares the winner of a part with the one that is kept, unless that is of another driver, compiler,
// protocol or kernel than this search's would be.
func (s *search) keptBetter(winner trial.Trial) (kept trial.Timing, better bool, err error) {
	if s.Only.IsZero() {
		return kept, false, nil
	}
	record, err := s.course.ledger.winner()
	if err != nil || record == nil {
		return kept, false, err
	}
	k, err := s.subject.Problem.Kernel(record.Winner.Configuration)
	if err != nil || k.Digest() != record.Winner.KernelDigest {
		return kept, false, nil // edited since
	}
	kept = record.Winner.Time
	return kept, 0 < kept.Median && kept.Median < winner.Time.Median, nil
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
	s.show(Beside)
	all, notes, err := final.Beside(ctx, *s.subject, s.field.Best().Configuration, s.Rivals)
	for _, text := range notes {
		s.warn(text)
	}
	var absent *final.AbsentError
	if err != nil && ctx.Err() == nil && !(s.Unasked && errors.As(err, &absent)) {
		s.warn(fmt.Sprintf("others were not timed beside the winner: %v", err))
	}
	s.addBaselines(all)
}

func (s *search) addBaselines(all []Baseline) {
	times := map[string]float64{}
	for _, b := range all {
		times[b.Name] = b.TimeMS
	}
	s.out.Baselines = append(s.out.Baselines, all...)
	s.out.Ceilings = withBaselines(s.out.Ceilings, times)
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
	s.addBaselines(before)
	return len(before) > 0
}
