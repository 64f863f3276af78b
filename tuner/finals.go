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

// energyWorthwhile is how long a search must have taken for its winner's energy
// to be measured unasked: that takes 0.6 s, a tenth of it.
const energyWorthwhile = 6 * time.Second

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
	first := s.best
	if first < 0 {
		return nil
	}
	s.lead = Lead{Leader: s.trials[first].Configuration, SearchMS: s.bestMS()}
	defer func() {
		s.breakdown.Finals = time.Since(start)
		s.lead.FinalMS = s.trials[first].Time.Median
	}()
	energy := s.Energy || time.Since(s.started) >= energyWorthwhile
	rounds := map[int64]int{}
	for range finalRoundsAll {
		id, ok := s.leader()
		if !ok || rounds[id] == finalRounds {
			break
		}
		rounds[id]++
		if err := s.timeAgain(ctx, id, rounds[id] == finalRounds && energy); err != nil {
			return err
		}
	}
	return nil
}

// timeAgain verifies and times a configuration once more; its trial gets the
// samples too, and the energy of a launch where that is wanted. One that fails
// now has failed.
func (s *search) timeAgain(ctx context.Context, id int64, energy bool) error {
	j := s.prepare(ctx, s.stages, id)
	j.variant.Energy = energy
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
