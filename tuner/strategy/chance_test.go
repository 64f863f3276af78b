package strategy_test

import (
	"slices"
	"testing"

	"autotune/tuner/strategy"
)

func seenOf(ids []int64, score func(int64) strategy.Outcome) []strategy.Seen {
	var seen []strategy.Seen
	for _, id := range ids {
		seen = append(seen, strategy.Seen{ID: id, Outcome: score(id)})
	}
	return seen
}

func TestChance(t *testing.T) {
	if testing.Short() {
		t.Skip("asks strategies for long, in one goroutine")
	}
	s := gridSpace(t, 10, 10, 10)
	score := bowl(s)
	ids := s.Sample(seeded(1), int(s.Len()))
	if c := strategy.Look(s, seenOf(ids[:10], score), nil, 1.05, 1).Chance; c != 1 {
		t.Errorf("after 10 outcomes %v, want 1", c)
	}
	if c := strategy.Look(s, seenOf(ids, score), nil, 1.05, 1).Chance; c != 0 {
		t.Errorf("after all outcomes %v, want 0", c)
	}
	// If times vary smoothly, a search soon finds the best configuration, and most searches also end with a low chance
	// of a gain.
	var after []float64
	for seed := range uint64(9) {
		found := search(t, started(t, "bayesian", s, strategy.Options{Seed: seed}), score, 100, 1, seeded(seed))
		after = append(after, strategy.Look(s, seenOf(found, score), nil, 1.05, 1).Chance)
	}
	slices.Sort(after)
	if c := after[len(after)/2]; c > 0.05 {
		t.Errorf("after searches %v, want next to nothing of most", after)
	}
	// If the better half of the configurations was never tried, the chance of a gain is high.
	var far []int64
	for _, id := range ids {
		if o := score(id); o.OK && o.Score > 1.8 && len(far) < 60 {
			far = append(far, id)
		}
	}
	if c := strategy.Look(s, seenOf(far, score), nil, 1.05, 1).Chance; c < 0.9 {
		t.Errorf("with the better half unseen %v, want nearly 1", c)
	}
	a, b := strategy.Look(s, seenOf(ids[:60], score), nil, 1.05, 9).Chance, strategy.Look(s, seenOf(ids[:60], score), nil, 1.05, 9).Chance
	if a != b {
		t.Errorf("the same seed gives %v and %v", a, b)
	}
}
