package strategy

import (
	"math/rand/v2"

	"autotune/space"
)

// random draws uniformly without replacement: a Fisher-Yates shuffle that
// stores only the points it has touched, so that memory grows with the
// evaluations and not with the space.
type random struct {
	rng   *rand.Rand
	left  int64
	moved map[int64]int64
	known map[int64]bool
}

func newRandom(s *space.Space, rng *rand.Rand, _ Options) Strategy {
	return &random{rng: rng, left: s.Len(), moved: map[int64]int64{}, known: map[int64]bool{}}
}

func (r *random) at(i int64) int64 {
	if v, ok := r.moved[i]; ok {
		return v
	}
	return i
}

func (r *random) Ask(n int) []int64 {
	var ids []int64
	for r.left > 0 && len(ids) < n {
		pick := r.rng.Int64N(r.left)
		r.left--
		id := r.at(pick)
		r.moved[pick] = r.at(r.left)
		delete(r.moved, r.left)
		if !r.known[id] {
			r.known[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

func (r *random) Tell(i int64, _ Outcome) { r.known[i] = true }
