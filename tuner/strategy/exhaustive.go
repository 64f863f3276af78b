package strategy

import (
	"math/rand/v2"

	"autotune/space"
)

// exhaustive walks the space in index order.
type exhaustive struct {
	next, end int64
	known     map[int64]bool
}

func newExhaustive(s *space.Space, _ *rand.Rand, _ Options) Strategy {
	return &exhaustive{end: s.Len(), known: map[int64]bool{}}
}

func (e *exhaustive) Ask(n int) []int64 {
	var ids []int64
	for ; e.next < e.end && len(ids) < n; e.next++ {
		if !e.known[e.next] {
			ids = append(ids, e.next)
		}
	}
	return ids
}

func (e *exhaustive) Tell(i int64, _ Outcome) { e.known[i] = true }
