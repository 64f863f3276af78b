package strategy_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"autotune/internal/test/must"
	"autotune/space/expr"
	"autotune/tuner/strategy"
)

// A search with rough expected scores finds the best configuration after trying a tenth of the space, and sooner knows
// that no gain is left. The expected scores in this test are wrong by a constant factor, and by a further 10 % that
// vary from one configuration to the next.
func TestExpected(t *testing.T) {
	s := gridSpace(t, 20, 20)
	score := func(id int64) float64 { return 1 + math.Abs(float64(id%20)-13)/5 + math.Abs(float64(id/20)-4)/5 }
	expected, err := strategy.Expect(s, 1, func(id int64) (float64, bool, error) {
		return 1000 * score(id) * (1 + 0.1*math.Sin(float64(7*id))), true, nil
	})
	must.OK(t, err)
	ended := func(e *strategy.Expected) (trials int, best float64) {
		st, err := strategy.New("bayesian", s, strategy.Options{Seed: 1, Expected: e})
		must.OK(t, err)
		var seen []strategy.Seen
		best = math.Inf(1)
		for len(seen) < 400 {
			id, _ := st.Ask()
			o := strategy.Outcome{OK: true, Score: score(id)}
			st.Tell(id, o)
			seen = append(seen, strategy.Seen{ID: id, Outcome: o})
			best = min(best, o.Score)
			if len(seen)%5 == 0 && strategy.Look(s, seen, e, 1.02, 1).Chance < 0.05 {
				break
			}
		}
		return len(seen), best
	}
	trials, best := ended(expected)
	if without, _ := ended(nil); trials > 40 || trials > without*3/4 || best > 1.001 {
		t.Errorf("ended after %d trials, without expectations after %d; the best takes %g", trials, without, best)
	}
}

// In the space of this test, the best configuration has a value of one tunable with which all configurations turn out
// better than expected. The search soon tries the best configuration, although two hundred other configurations were
// expected to be better.
func TestExpectedBehindHundreds(t *testing.T) {
	s := gridSpace(t, 4, 4, 4, 4, 4, 4, 2)
	score := func(id int64, factor float64) float64 { // factor applies to value 1 of the last tunable
		sum, better := 0.0, s.At(id).Values[6].Value == expr.Int(1)
		for _, v := range s.At(id).Values[:6] {
			x, _ := v.Value.AsFloat()
			sum += x / 16
		}
		if better {
			return factor * (1 + 18.0/16 - sum)
		}
		return 1 + sum
	}
	const expects, truth = 1.3, 0.6
	expected, err := strategy.Expect(s, 1, func(id int64) (float64, bool, error) { return score(id, expects), true, nil })
	must.OK(t, err)
	st := started(t, "bayesian", s, strategy.Options{Expected: expected})
	tell := func(id int64) (ms float64) {
		ms = score(id, truth)
		st.Tell(id, strategy.Outcome{OK: true, Score: ms})
		return ms
	}
	for _, id := range s.Sample(seeded(0), 40) {
		tell(id)
	}
	var next []float64
	for range 3 {
		id, _ := st.Ask()
		next = append(next, tell(id))
	}
	if !slices.Contains(next, truth) {
		t.Errorf("the next three take %v ms, want one with the best, %v ms", next, truth)
	}
}

// Likely returns the configurations with the lowest expected scores first, and leaves out configurations that are
// similar to an earlier one in the list. Expect returns an error if the function for the scores fails, but accepts
// configurations that have no expected score.
func TestExpect(t *testing.T) {
	s := gridSpace(t, 9, 9)
	away := func(id int64) (float64, bool, error) { return math.Abs(float64(id - 40)), true, nil }
	e, err := strategy.Expect(s, 1, away)
	likely := e.Likely(s, 5)
	if err != nil || likely[0] != 40 {
		t.Errorf("the likely are %v, %v; want 40 first", likely, err)
	}
	for i, id := range likely {
		if slices.ContainsFunc(likely[:i], func(other int64) bool { return s.At(id).Values.Differences(s.At(other).Values) < 2 }) {
			t.Errorf("%v has two that are alike", likely)
		}
	}
	none, err := strategy.Expect(s, 1, func(int64) (float64, bool, error) { return 0, false, nil })
	if none != nil || err != nil || none.Likely(s, 5) != nil {
		t.Errorf("nothing is expected, yet there is %v, %v", none, err)
	}
	broken := errors.New("no formula")
	if _, err := strategy.Expect(s, 1, func(int64) (float64, bool, error) { return 0, true, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// PromiseMore returns true only if an expected score is clearly lower, not just slightly. PromiseMore never prefers a
// configuration that has no expected score.
func TestPromiseMore(t *testing.T) {
	e, err := strategy.Expect(gridSpace(t, 9, 9), 1, func(id int64) (float64, bool, error) { return float64(id), id < 81, nil })
	must.OK(t, err)
	for _, c := range []struct {
		some, others []int64
		want         bool
	}{
		{[]int64{10}, []int64{16}, true}, {[]int64{10}, []int64{14}, false}, {[]int64{10, 30}, []int64{99}, true}, {[]int64{99}, []int64{30}, false},
		{[]int64{10}, nil, true}, {nil, nil, false}, {nil, []int64{10}, false}, {[]int64{0}, []int64{0}, false},
	} {
		if got := e.PromiseMore(c.some, c.others); got != c.want {
			t.Errorf("%v promises more than %v: %v, want %v", c.some, c.others, got, c.want)
		}
	}
	if (*strategy.Expected)(nil).PromiseMore([]int64{1}, []int64{2}) || e.Expects(99) || !e.Expects(8) {
		t.Error("what nothing is expected of promises nothing")
	}
}
