package tuner

import (
	"context"
	"fmt"
	"time"

	"autotune/tuner/device"
	"autotune/tuner/trial"
)

// In the finals the leader is timed again until it has led through this many
// rounds of its own, or this many rounds were spent on all leaders together.
const (
	finalRounds    = 3
	finalRoundsAll = 15
)

// finals makes sure of the winner. The fastest of hundreds of noisy medians is
// partly the luckiest; so the leader is timed again, its new samples join the
// old ones, and if another leads then, it is that one's turn. Whoever still
// leads after its rounds has not been lucky.
func (s *search) finals(ctx context.Context, session device.Session) error {
	if s.compiler == nil || s.Protocol.Samples <= 1 || s.ledger.interrupted() {
		return nil
	}
	start := time.Now()
	defer func() { s.breakdown.Finals = time.Since(start) }()
	rounds := map[int64]int{}
	for range finalRoundsAll {
		id, ok := s.ledger.leader()
		if !ok || rounds[id] == finalRounds || ctx.Err() != nil {
			break
		}
		rounds[id]++
		if err := s.timeAgain(ctx, session, id); err != nil {
			return err
		}
	}
	return nil
}

// timeAgain verifies and times a configuration once more; its trial gets the
// samples too. One that fails now has failed.
func (s *search) timeAgain(ctx context.Context, session device.Session, id int64) error {
	c := s.space.At(id)
	k, err := s.problem.Kernel(c)
	if err != nil {
		return fmt.Errorf("prepare %s: %w", c, err)
	}
	again := trial.New(c, k)
	binary, err := s.compile(ctx, k, &again)
	if err != nil || binary == nil {
		return err // it compiled before: only a cancellation gets here
	}
	s.meter.deviceStarts()
	o, err := session.Evaluate(ctx, device.Variant{Configuration: c, Kernel: k, Binary: binary}, 0)
	s.meter.deviceEnds()
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("time %s again: %w", c, err)
	}
	if o.Status != trial.OK {
		o.Message = "in the finals: " + o.Message
	}
	t := s.ledger.amend(id, func(t *trial.Trial) { t.Join(o) })
	return s.keep(t)
}
