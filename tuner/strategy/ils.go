package strategy

import (
	"math"

	"autotune/space"
)

// ils is greedy iterated local search: from the best of a few random
// configurations it moves to the first neighbour that is better, until there is
// none; then it leaps a few tunables away from the best and goes on from there.
type ils struct {
	*archive
	seeding int // random configurations still to propose
	at      int64
	loss    float64 // at `at`
	arrived bool    // `at` is known
	near    []int64 // its neighbours still to try, the last first
	listed  bool    // near was filled
	leap    int     // how far the next leap goes
}

const (
	ilsSeeds   = 8
	shortLeap  = 2
	longLeap   = 5
	toAdjacent = 0.6 // how often the neighbours next to it come first
)

func newILS(a *archive, _ Options) method { return newILSFrom(a, ilsSeeds) }

// newILSFrom begins with so many random configurations.
func newILSFrom(a *archive, seeds int) *ils {
	return &ils{archive: a, seeding: seeds, at: -1, loss: math.Inf(1), leap: shortLeap}
}

func (s *ils) propose() (int64, bool) {
	if s.seeding > 0 {
		s.seeding--
		return s.draw(), true
	}
	if s.at < 0 { // nothing works yet
		return 0, false
	}
	if !s.arrived {
		if s.underWay[s.at] { // meanwhile look around there
			return s.neighbour(s.at), true
		}
		return s.at, true
	}
	if !s.listed {
		s.near, s.listed = s.neighbourhood(), true
	}
	for len(s.near) > 0 {
		id := s.near[len(s.near)-1]
		s.near = s.near[:len(s.near)-1]
		if s.unseen(id) {
			return id, true
		}
		if o, known := s.known[id]; known && loss(o) < s.loss {
			return id, true // learnt at once
		}
	}
	s.jump()
	return s.at, true
}

// neighbourhood lists the neighbours in random order, in most cases those next
// to it before those farther away.
func (s *ils) neighbourhood() []int64 {
	far := s.vicinity(s.at)
	s.rng.Shuffle(len(far), func(i, j int) { far[i], far[j] = far[j], far[i] })
	if s.rng.Float64() < toAdjacent {
		next := s.space.Neighbours(s.at, space.Adjacent)
		s.rng.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
		far = append(far, next...)
	}
	return far
}

// jump leaves the local optimum for a place near the best, farther each time
// that this does not lead to a better one.
func (s *ils) jump() {
	id := s.best
	for range s.leap {
		id = s.neighbour(id)
	}
	s.leap = min(s.leap+1, longLeap)
	s.at, s.loss, s.arrived, s.listed = id, math.Inf(1), false, false
}

func (s *ils) learn(id int64, o Outcome) {
	switch {
	case id == s.at:
		s.arrived, s.loss = true, loss(o)
		if !o.OK {
			s.at, s.loss = s.best, math.Log(s.score)
		}
	case o.OK && (loss(o) < s.loss && s.arrived || id == s.best || s.at < 0):
		s.at, s.loss, s.arrived, s.listed = id, loss(o), true, false
	}
	if id == s.best {
		s.leap = shortLeap
	}
}
