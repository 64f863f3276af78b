package strategy

import "math/rand/v2"

// random has nothing to propose, and so leaves each draw to chance.
type random struct{}

func newRandom(*archive, Options) method { return random{} }

func (random) propose() (int64, bool) { return 0, false }

func (random) learn(int64, Outcome) {}

// shuffle draws numbers uniformly without replacement: a Fisher-Yates shuffle
// that stores only the numbers it has touched, so that memory grows with the
// draws and not with the range.
type shuffle struct {
	rng   *rand.Rand
	left  int64
	moved map[int64]int64
}

func (s *shuffle) at(i int64) int64 {
	if v, ok := s.moved[i]; ok {
		return v
	}
	return i
}

// next is a number that was not drawn before; some must be left.
func (s *shuffle) next() int64 {
	pick := s.rng.Int64N(s.left)
	s.left--
	drawn := s.at(pick)
	s.moved[pick] = s.at(s.left)
	delete(s.moved, s.left)
	return drawn
}
