package strategy

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"

	"autotune/internal/lists"
	"autotune/space"
	"autotune/space/expr"
)

// archive holds the state of a search: the configurations with known outcomes and the configurations still being
// evaluated. The field rng of the archive is the only source of randomness of a strategy.
type archive struct {
	space    *space.Space
	rng      *rand.Rand
	known    map[int64]Outcome
	order    []int64 // known configurations, in the order in which they were told
	working  []int64 // known configurations that work, the best first
	underWay map[int64]bool
	best     int64   // -1 until a configuration works
	score    float64 // score of the best; +Inf until one works
	draws    shuffle // draws from the whole space
	expected *Expected
}

func newArchive(s *space.Space, rng *rand.Rand, expected *Expected) *archive {
	return &archive{
		space: s, rng: rng, expected: expected,
		known: map[int64]Outcome{}, underWay: map[int64]bool{},
		best: -1, score: math.Inf(1),
		draws: shuffle{rng, s.Len(), map[int64]int64{}},
	}
}

func (a *archive) unseen(id int64) bool {
	_, known := a.known[id]
	return !known && !a.underWay[id]
}

// tell records the outcome of a configuration; it returns false if the outcome was known already.
func (a *archive) tell(id int64, o Outcome) bool {
	if _, known := a.known[id]; known {
		return false
	}
	if o.OK && !(o.Score > 0 && o.Score <= math.MaxFloat64) {
		o = Outcome{} // the score is not a time
	}
	delete(a.underWay, id)
	a.known[id] = o
	a.order = append(a.order, id)
	if o.OK {
		at := sort.Search(len(a.working), func(i int) bool { return a.known[a.working[i]].Score > o.Score })
		a.working = slices.Insert(a.working, at, id)
		if o.Score < a.score {
			a.best, a.score = id, o.Score
		}
	}
	return true
}

// bestOf returns the n best configurations, or all if fewer work. The caller must not modify the list that bestOf
// returns.
func (a *archive) bestOf(n int) []int64 { return a.working[:min(n, len(a.working))] }

// anyUnseen draws a configuration that may be proposed, with equal probabilities; it returns false if none is left.
func (a *archive) anyUnseen() (int64, bool) {
	for a.draws.left > 0 {
		if id := a.draws.next(); a.unseen(id) {
			return id, true
		}
	}
	return 0, false
}

// loss returns the logarithm of a score, so that an equal factor in time is an equal difference in loss; the loss of a
// failure is +Inf.
func loss(o Outcome) float64 {
	if !o.OK {
		return math.Inf(1)
	}
	return math.Log(o.Score)
}

// doubleOf returns the index of the value that is twice a tunable's given value, or -1 if the tunable has no such
// value.
func doubleOf(t space.Tunable, value int) int {
	if n, ok := t.Values[value].AsInt(); ok && n > 0 {
		return slices.IndexFunc(t.Values, expr.Int(2*n).Equal)
	}
	return -1
}

// exchanges returns the configurations that result if one tunable of a configuration is doubled and another halved.
// Many limits and costs depend on a product of tunables, such as the number of threads of a block; two configurations
// with an equal product differ in at least two tunables.
func (a *archive) exchanges(id int64) (found []int64) {
	part, choice := a.space.PartOf(id), a.space.Choice(id)
	tunables := a.space.Parts()[part].Tunables
	for up, from := range choice {
		twice := doubleOf(tunables[up], from)
		if twice < 0 {
			continue
		}
		for down, half := range choice {
			t := tunables[down]
			to := slices.IndexFunc(lists.Places(len(t.Values)), func(v int) bool { return doubleOf(t, v) == half })
			if up == down || to < 0 {
				continue
			}
			choice[up], choice[down] = twice, to
			if near, ok := a.space.IndexOf(part, choice); ok {
				found = append(found, near)
			}
			choice[up], choice[down] = from, half
		}
	}
	return found
}

// vicinity returns all configurations close to a given one: with one tunable changed by any amount, or with one tunable
// doubled and another halved.
func (a *archive) vicinity(id int64) []int64 {
	return append(a.space.Neighbours(id), a.exchanges(id)...)
}

// maximin draws n configurations that are far from each other: of a few random candidates, it takes the one whose
// distance to the nearest earlier configuration is largest.
func maximin(a *archive, n int) []int64 {
	var ids []int64
	var rows [][]float64
	for range min(int64(n), a.space.Len()) {
		var id int64
		var row []float64
		farthest := -1.0
		for _, candidate := range a.space.Sample(a.rng, policy.seedChoices) {
			x := a.space.Features(candidate, nil)
			nearest := 1e9
			for _, other := range rows {
				nearest = min(nearest, floats.Distance(x, other, 2))
			}
			if nearest > farthest {
				farthest, id, row = nearest, candidate, x
			}
		}
		ids, rows = append(ids, id), append(rows, row)
	}
	return ids
}

// shuffle draws numbers at random, each number only once. This Fisher-Yates shuffle stores only the numbers that it has
// moved, so that its memory is proportional to the number of draws rather than to the size of the range.
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

// next draws one of the remaining numbers at random; at least one number must remain.
func (s *shuffle) next() int64 {
	pick := s.rng.Int64N(s.left)
	s.left--
	drawn := s.at(pick)
	s.moved[pick] = s.at(s.left)
	delete(s.moved, s.left)
	return drawn
}
