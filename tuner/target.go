package tuner

import (
	"context"
	"time"

	"autotune/tuner/strategy"
)

// A search with a target asks every so often what chance is left, and ends
// below this one.
const (
	targetChance   = 0.05
	targetInterval = 500 * time.Millisecond
)

// watchTarget ends the search when the target is as good as reached. The
// channel is closed when it has stopped watching.
func (s *search) watchTarget(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	if s.Target <= 0 {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		for wait(ctx, targetInterval) {
			if strategy.Chance(s.space, s.ledger.seenSoFar(), s.Target, s.Seed) < targetChance {
				s.ledger.end(Satisfied)
				return
			}
		}
	}()
	return done
}

// wait waits; not ok: ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
