package tuner

import (
	"context"
	"time"

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
func (s *search) finals(ctx context.Context) error {
	if !s.can.Compiles || s.Protocol.Samples <= 1 {
		return nil
	}
	s.show(Finals)
	start := time.Now()
	defer func() { s.breakdown.Finals = time.Since(start) }()
	rounds := map[int64]int{}
	for range finalRoundsAll {
		id, ok := s.leader()
		if !ok || rounds[id] == finalRounds {
			break
		}
		rounds[id]++
		if err := s.timeAgain(ctx, id); err != nil {
			return err
		}
	}
	return s.measureEnergy(ctx)
}

// energyWorthwhile is how long a search must have taken for its winner's energy
// to be measured unasked: that takes 0.6 s, a tenth of it.
const energyWorthwhile = 6 * time.Second

// measureEnergy completes the winner's trial. A device that fails at it costs
// the winner nothing but this number.
func (s *search) measureEnergy(ctx context.Context) error {
	id, ok := s.leader()
	if !ok || s.trials[s.best].EnergyMJ > 0 || !s.Energy && time.Since(s.started) < energyWorthwhile {
		return nil
	}
	j := s.prepare(ctx, s.stages, id)
	if j.err != nil || j.variant.Binary == nil {
		return j.err
	}
	j.energy = true
	s.stages.toDevice <- j
	if j = <-s.stages.evaluated; ctx.Err() != nil {
		return ctx.Err()
	}
	if j.err != nil {
		s.warnings = append(s.warnings, "the energy of a launch is not known: "+j.err.Error())
	}
	if j.outcome.EnergyMJ == 0 {
		return nil
	}
	s.lose(s.keep(s.amend(id, func(t *trial.Trial) { t.EnergyMJ = j.outcome.EnergyMJ })))
	return nil
}

// timeAgain verifies and times a configuration once more; its trial gets the
// samples too. One that fails now has failed.
func (s *search) timeAgain(ctx context.Context, id int64) error {
	j := s.prepare(ctx, s.stages, id)
	if j.err != nil || j.variant.Binary == nil {
		return j.err // it compiled before: only a cancellation gets here
	}
	s.stages.toDevice <- j
	if j = <-s.stages.evaluated; j.err != nil {
		return j.err
	}
	if j.outcome.Status != trial.OK {
		j.outcome.Message = "in the finals: " + j.outcome.Message
	}
	s.lose(s.keep(s.amend(id, func(t *trial.Trial) { t.Join(j.outcome) })))
	return nil
}
