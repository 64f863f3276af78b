package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autotune/internal/test/must"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/strategy"
)

func ints(n int) []expr.Value {
	var values []expr.Value
	for i := range n {
		values = append(values, expr.Int(int64(i)))
	}
	return values
}

// gridSpace returns a space with one tunable for each size, which has that many values.
func gridSpace(t testing.TB, sizes ...int) *space.Space {
	t.Helper()
	p := space.Part{Template: "grid"}
	for k, n := range sizes {
		p.Tunables = append(p.Tunables, space.Tunable{Name: fmt.Sprintf("t%d", k), Values: ints(n)})
	}
	return built(t, p)
}

// mixedSpace returns a space with two templates, a constraint and a categorical tunable.
func mixedSpace(t testing.TB) *space.Space {
	t.Helper()
	return built(t,
		space.Part{Template: "a", Constraints: []*expr.Expr{expr.MustParse("x * y <= 24")}, Tunables: []space.Tunable{
			{Name: "x", Values: ints(10)}, {Name: "y", Values: ints(10)},
			{Name: "way", Values: []expr.Value{expr.String("row"), expr.String("column")}},
		}},
		space.Part{Template: "b", Tunables: []space.Tunable{{Name: "x", Values: ints(12)}, {Name: "z", Values: ints(5)}}},
	)
}

func built(t testing.TB, parts ...space.Part) *space.Space {
	t.Helper()
	s, err := space.New(t.Context(), parts...)
	must.OK(t, err)
	return s
}

// bowl scores configurations by their distance from a point, and lets some configurations fail.
func bowl(s *space.Space) func(id int64) strategy.Outcome {
	return func(id int64) strategy.Outcome {
		sum := 1.0
		for k, x := range s.Features(id, nil) {
			d := x - 0.3 - 0.1*float64(k%4)
			sum += d * d * float64(k+1)
		}
		if id%7 == 3 {
			return strategy.Outcome{}
		}
		return strategy.Outcome{OK: true, Score: sum}
	}
}

func failing(int64) strategy.Outcome { return strategy.Outcome{} }

func started(t testing.TB, name string, s *space.Space, o strategy.Options) strategy.Strategy {
	t.Helper()
	strat, err := strategy.New(name, s, o)
	must.OK(t, err)
	return strat
}

// search runs a strategy until it has proposed `most` configurations, and returns them. Up to `ahead` proposed
// configurations await their outcomes at the same time, and the outcomes come in random order.
func search(t interface{ Fatalf(string, ...any) }, strat strategy.Strategy, score func(int64) strategy.Outcome, most, ahead int, rng *rand.Rand) []int64 {
	var proposed, underWay []int64
	seen := map[int64]bool{}
	for {
		for len(underWay) < ahead && len(proposed) < most {
			id, ok := strat.Ask()
			if !ok {
				break
			}
			if seen[id] {
				t.Fatalf("configuration %d was proposed twice", id)
			}
			seen[id] = true
			proposed, underWay = append(proposed, id), append(underWay, id)
		}
		if len(underWay) == 0 {
			return proposed
		}
		at := rng.IntN(len(underWay))
		id := underWay[at]
		underWay = slices.Delete(underWay, at, at+1)
		strat.Tell(id, score(id))
	}
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// For any outcomes and any number of evaluations under way, a strategy finally proposes the whole space, and no
// configuration twice.
func TestStrategiesExhaust(t *testing.T) {
	if testing.Short() {
		t.Skip("asks strategies for long, in one goroutine")
	}
	spaces := map[string]*space.Space{
		"1": gridSpace(t, 1), "2": gridSpace(t, 2), "3": gridSpace(t, 1, 3), "6": gridSpace(t, 2, 3),
		"12": gridSpace(t, 3, 2, 2), "20": gridSpace(t, 4, 5), "mixed": mixedSpace(t),
	}
	for _, name := range strategy.Names() {
		for size, s := range spaces {
			for _, ahead := range []int{1, 32} {
				for kind, score := range map[string]func(int64) strategy.Outcome{
					"bowl": bowl(s), "failing": failing,
					"equal": func(int64) strategy.Outcome { return strategy.Outcome{OK: true, Score: 1} },
					"odd":   func(int64) strategy.Outcome { return strategy.Outcome{OK: true, Score: math.NaN()} },
				} {
					t.Run(fmt.Sprintf("%s/%s/%d/%s", name, size, ahead, kind), func(t *testing.T) {
						got := search(t, started(t, name, s, strategy.Options{Seed: 5}), score, 1<<30, ahead, seeded(2))
						if int64(len(got)) != s.Len() {
							t.Errorf("%d of %d configurations were proposed", len(got), s.Len())
						}
					})
				}
			}
		}
	}
}

func TestStrategiesAreDeterministic(t *testing.T) {
	s := gridSpace(t, 6, 6, 6, 4)
	for _, name := range strategy.Names() {
		walk := func(seed uint64) []int64 {
			return search(t, started(t, name, s, strategy.Options{Seed: seed}), bowl(s), 120, 8, seeded(3))
		}
		if !slices.Equal(walk(1), walk(1)) {
			t.Errorf("%s: the same seed walks differently", name)
		}
		if name != "exhaustive" && slices.Equal(walk(1), walk(2)) {
			t.Errorf("%s: different seeds walk the same", name)
		}
	}
}

// A strategy does not propose configurations whose outcomes it was told before, but learns from these outcomes.
func TestToldConfigurationsAreNotProposed(t *testing.T) {
	if testing.Short() {
		t.Skip("asks strategies for long, in one goroutine")
	}
	s := mixedSpace(t)
	for _, name := range strategy.Names() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				strat, err := strategy.New(name, s, strategy.Options{Seed: rapid.Uint64().Draw(t, "seed")})
				must.OK(t, err)
				score := bowl(s)
				told := map[int64]bool{}
				for _, id := range rapid.SliceOfN(rapid.Int64Range(0, s.Len()-1), 0, 10).Draw(t, "told") {
					strat.Tell(id, score(id))
					told[id] = true
				}
				for _, id := range search(t, strat, score, 40, 3, seeded(4)) {
					if told[id] {
						t.Fatalf("configuration %d was told and then proposed", id)
					}
				}
			})
		})
	}
}

// On a smooth problem, every strategy that learns is better than random search.
func TestStrategiesLearn(t *testing.T) {
	if testing.Short() {
		t.Skip("asks strategies for long, in one goroutine")
	}
	s := gridSpace(t, 10, 10, 10, 10)
	score := bowl(s)
	const budget, repeats = 120, 5
	medianBest := func(name string) float64 {
		var bests []float64
		for seed := range uint64(repeats) {
			best := math.Inf(1)
			for _, id := range search(t, started(t, name, s, strategy.Options{Seed: seed}), score, budget, 1, seeded(seed)) {
				if o := score(id); o.OK {
					best = min(best, o.Score)
				}
			}
			bests = append(bests, best)
		}
		slices.Sort(bests)
		return bests[repeats/2]
	}
	chance := medianBest("random")
	for _, name := range strategy.Names() {
		if name == "random" || name == "exhaustive" {
			continue
		}
		if got := medianBest(name); got >= chance {
			t.Errorf("%s finds %.4f where random search finds %.4f", name, got, chance)
		}
	}
}

// A model learns to avoid a region of failures.
func TestModelsAvoidFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("asks strategies for long, in one goroutine")
	}
	s := gridSpace(t, 10, 10, 10)
	score := func(id int64) strategy.Outcome {
		x := s.Features(id, nil)
		// In the space of this test, scores improve towards a cliff, beyond which all configurations fail.
		return strategy.Outcome{OK: x[0] < 0.6, Score: 2 - x[0] + 0.1*x[1]}
	}
	const repeats = 12 // a single search has 15 to 41 failures
	failures := 0
	for seed := range uint64(repeats) {
		for _, id := range search(t, started(t, "bayesian", s, strategy.Options{Seed: seed}), score, 100, 1, seeded(seed)) {
			if !score(id).OK {
				failures++
			}
		}
	}
	if failures > 34*repeats { // random search has 40 in 100
		t.Errorf("bayesian met %d failures among %d", failures, 100*repeats)
	}
}

func TestUnknownStrategy(t *testing.T) {
	_, err := strategy.New("bayes", gridSpace(t, 2), strategy.Options{})
	if err == nil || !strings.Contains(err.Error(), `"bayes"`) || !strings.Contains(err.Error(), "bayesian,") {
		t.Errorf("error %v", err)
	}
	if !slices.Contains(strategy.Names(), strategy.Default) {
		t.Errorf("the default %s is not among %v", strategy.Default, strategy.Names())
	}
}

func TestEmptySpace(t *testing.T) {
	s := built(t, space.Part{Template: "none", Tunables: []space.Tunable{{Name: "x", Values: ints(3)}}, Constraints: []*expr.Expr{expr.MustParse("x > 5")}})
	for _, name := range strategy.Names() {
		if id, ok := started(t, name, s, strategy.Options{}).Ask(); ok {
			t.Errorf("%s proposes %v of nothing", name, id)
		}
	}
}

func BenchmarkBayesian(b *testing.B) {
	s := gridSpace(b, 12, 12, 12, 8)
	score := bowl(s)
	for b.Loop() {
		search(b, started(b, "bayesian", s, strategy.Options{Seed: 1}), score, 300, 1, seeded(1))
	}
}
