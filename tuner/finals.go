package tuner

import (
	"context"
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
func (s *search) finals(ctx context.Context) error {
	if s.compiler == nil || s.Protocol.Samples <= 1 {
		return nil
	}
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
	return s.keep(s.amend(id, func(t *trial.Trial) { addRound(t, j.evaluation) }))
}

// addRound joins an evaluation to a trial of the same configuration.
func addRound(t *trial.Trial, e device.Evaluation) {
	if e.Status != trial.OK {
		t.Status, t.Message = e.Status, "in the finals: "+e.Message
		t.Time, t.SamplesMS = trial.Timing{}, nil
		return
	}
	t.SamplesMS = append(t.SamplesMS, e.Samples...)
	t.Time = trial.Summarise(t.SamplesMS, e.Batch)
	t.MaxAbsError = max(t.MaxAbsError, finite(e.MaxAbsError))
	t.ClockMHz, t.Warnings = e.ClockMHz, e.Warnings
}
