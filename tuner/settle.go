package tuner

import (
	"context"
	"maps"
	"time"

	"autotune/tuner/device"
	"autotune/tuner/final"
	"autotune/tuner/trial"
)

// settleWinner has the finals and the gates make sure of the winner. It leaves the trials
// such that Decide names it.
func (s *search) settleWinner(ctx context.Context) (err error) {
	leader := s.Best()
	if !s.can.Compiles || leader == nil || s.session == nil {
		return nil
	}
	s.show(Finals)
	start, timed := time.Now(), final.Timed(s.Protocol)
	if timed {
		s.lead = Lead{Leader: leader.Configuration, SearchMS: leader.Time.Median}
	}
	s.Verdict, err = final.Settle(ctx, s.Field, final.Case{
		Subject: final.Subject{Problem: s.problem, Device: s.device, Protocol: s.Protocol, Ceilings: s.ceilings, Launches: s.Launches},
		Gating:  s.Gating, Energy: s.Energy, Seed: s.Seed, Started: s.started, Limit: s.Time,
		Session: s.session, Variants: s.held, Compilers: s.workers(),
		Compile: func(ctx context.Context, id int64) (device.Variant, trial.Outcome, error) {
			j := s.prepare(ctx, s.stages, id)
			return j.variant, j.trial.Outcome, j.err
		},
		Amended: func(t trial.Trial) { s.lose(s.keep(t)) },
		Gate:    func() { s.show(Gate) },
		Worked:  func(from time.Time) { s.stages.work.evaluated(spanSince(from)) },
	})
	s.breakdown.Finals = time.Since(start)
	if timed {
		s.lead.FinalMS = leader.Time.Median
	}
	return err
}

// hold keeps a finished job's binary if the finals may need it.
func (s *search) hold(j job) {
	leader, ok := s.Leader()
	if j.variant.Binary == nil || j.trial.Status != trial.OK || !ok || s.Behind(j.id) {
		return
	}
	s.held[j.id] = j.variant
	if leader == j.id { // only then may others be behind now
		maps.DeleteFunc(s.held, func(id int64, _ device.Variant) bool { return s.Behind(id) })
	}
}
