package tuner

import (
	"autotune/space"
	"autotune/tuner/strategy"
)

// recordedOrder is the name of the walk along a recording.
const recordedOrder = "as recorded"

// recorded proposes what a recording can answer for, in its order.
type recorded struct{ left []int64 }

func newRecorded(s *space.Space, list []space.Configuration) *recorded {
	r := &recorded{}
	for _, c := range list {
		// What today's space no longer holds cannot be asked for.
		if id, ok := s.Index(c); ok {
			r.left = append(r.left, id)
		}
	}
	return r
}

func (r *recorded) Ask(n int) []int64 {
	n = min(n, len(r.left))
	ids := r.left[:n]
	r.left = r.left[n:]
	return ids
}

func (r *recorded) Tell(int64, strategy.Outcome) {}
