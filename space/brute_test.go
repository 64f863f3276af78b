package space_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"autotune/internal/lists"
	"autotune/space"
	"autotune/space/expr"

	"pgregory.net/rapid"
)

// drawPart draws a small random part with all kinds of tunables and constraints, including constraints whose evaluation
// can fail.
func drawPart(t *rapid.T) space.Part {
	var p space.Part
	n := rapid.IntRange(1, 5).Draw(t, "tunables")
	for i := range n {
		p.Tunables = append(p.Tunables, space.Tunable{Name: fmt.Sprintf("t%d", i), Values: drawValues(t)})
	}
	p.Constants = map[string]expr.Value{"limit": expr.Int(rapid.Int64Range(-2, 40).Draw(t, "limit")), "half": expr.Float(0.5)}
	for range rapid.IntRange(0, 4).Draw(t, "constraints") {
		p.Constraints = append(p.Constraints, expr.MustParse(drawCondition(t, n, 3)))
	}
	return p
}

var pools = [][]expr.Value{
	{expr.Int(1), expr.Int(2), expr.Int(4), expr.Int(8), expr.Int(16), expr.Int(32)},
	{expr.Int(1), expr.Int(2), expr.Int(3), expr.Int(4), expr.Int(5), expr.Int(6)},
	{expr.Int(-3), expr.Int(-1), expr.Int(0), expr.Int(2), expr.Int(7), expr.Int(1 << 40)},
	{expr.Float(-1.5), expr.Float(0.25), expr.Float(0.5), expr.Float(2), expr.Float(3.75)},
	{expr.Bool(false), expr.Bool(true)},
	{expr.String("row"), expr.String("col"), expr.String("")},
	{expr.Int(0), expr.Float(0.5), expr.Int(3), expr.String("x")},
}

func drawValues(t *rapid.T) []expr.Value {
	pool := rapid.SampledFrom(append(pools[:2:2], pools...)).Draw(t, "pool")
	shuffled := rapid.Permutation(pool).Draw(t, "values")
	return shuffled[:rapid.IntRange(1, min(4, len(pool))).Draw(t, "count")]
}

func drawCondition(t *rapid.T, n, depth int) string {
	if depth > 0 {
		switch rapid.IntRange(0, 8).Draw(t, "form") {
		case 0:
			return "(" + drawCondition(t, n, depth-1) + " or " + drawCondition(t, n, depth-1) + ")"
		case 1:
			return "(" + drawCondition(t, n, depth-1) + " and " + drawCondition(t, n, depth-1) + ")"
		case 2:
			return "not (" + drawCondition(t, n, depth-1) + ")"
		case 3:
			return drawNumber(t, n, 1) + " <= " + drawNumber(t, n, depth) + " < " + drawNumber(t, n, 1)
		case 4:
			return drawName(t, n) + " in (1, 2, 'row', " + drawNumber(t, n, 1) + ")"
		case 5:
			return drawNumber(t, n, depth) + " % " + drawName(t, n) + " == 0"
		}
	}
	cmp := rapid.SampledFrom([]string{"<", "<=", ">", ">=", "==", "!="}).Draw(t, "cmp")
	return drawNumber(t, n, depth) + " " + cmp + " " + drawNumber(t, n, depth)
}

func drawName(t *rapid.T, n int) string {
	return fmt.Sprintf("t%d", rapid.IntRange(0, n-1).Draw(t, "name"))
}

func drawNumber(t *rapid.T, n, depth int) string {
	if depth == 0 || rapid.IntRange(0, 2).Draw(t, "leaf") == 0 {
		return rapid.SampledFrom([]string{drawName(t, n), drawName(t, n), drawName(t, n), "limit", "half", "3", "16", "0.5"}).Draw(t, "atom")
	}
	a, b := drawNumber(t, n, depth-1), drawNumber(t, n, depth-1)
	form := rapid.SampledFrom([]string{"(%s + %s)", "(%s - %s)", "%s * %s", "%s * %s", "(%s / %s)", "(%s // %s)", "(%s %% %s)",
		"(%s) ** 2 + %s", "min(%s, %s)", "max(%s, %s)", "ceil_div(%s, %s)", "gcd(int(%s), int(%s))", "abs(%s) + int(%s)", "(-(%s) if t0 == 1 else %s)"}).Draw(t, "op")
	return fmt.Sprintf(form, a, b)
}

// enumerate finds the valid configurations by trying all combinations in declared order. Like New, enumerate fails if a
// constraint cannot be evaluated for a configuration that no other constraint rules out.
func enumerate(p space.Part) (valid []map[string]expr.Value, failed bool) {
	env := maps.Clone(p.Constants)
	var conditions []*expr.Expr
	for _, e := range p.Constraints {
		conditions = append(conditions, lists.Of(e.Root().Conjuncts(), expr.New)...)
	}
	var try func(tunables []space.Tunable)
	try = func(tunables []space.Tunable) {
		if len(tunables) > 0 {
			for _, v := range tunables[0].Values {
				env[tunables[0].Name] = v
				try(tunables[1:])
			}
			return
		}
		wrong := false
		for _, c := range conditions {
			v, err := c.Eval(env)
			if err == nil && !v.Truth() {
				return
			}
			wrong = wrong || err != nil
		}
		failed = failed || wrong
		one := map[string]expr.Value{}
		for _, t := range p.Tunables {
			one[t.Name] = env[t.Name]
		}
		valid = append(valid, one)
	}
	try(p.Tunables)
	return valid, failed
}

// written returns a text with a part's constraints, one per line.
func written(p space.Part) string {
	var lines []string
	for _, c := range p.Constraints {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "\n")
}

// TestBruteForce compares random spaces with the result of trying every combination.
func TestBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPart(t)
		want, fails := enumerate(p)
		s, err := space.New(t.Context(), p)
		if fails != (err != nil) {
			t.Fatalf("error %v; by brute force it fails: %v\n%s", err, fails, written(p))
		}
		if fails {
			if !strings.Contains(err.Error(), "column") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("imprecise error %q", err)
			}
			return
		}
		if s.Len() != int64(len(want)) {
			t.Fatalf("%d valid, by brute force %d\n%s", s.Len(), len(want), written(p))
		}
		seen := map[int64]bool{}
		for _, values := range want {
			i, ok := s.Index(space.Configuration{Values: listed(values)})
			if !ok || i < 0 || i >= s.Len() || seen[i] {
				t.Fatalf("Index(%v) = %d, %v", values, i, ok)
			}
			seen[i] = true
			c := s.At(i)
			for name, v := range values {
				if got, _ := c.Get(name); got != v {
					t.Fatalf("At(Index(%v)) = %v", values, c)
				}
			}
			if back, ok := s.Index(c); !ok || back != i {
				t.Fatalf("Index(At(%d)) = %d, %v", i, back, ok)
			}
		}
	})
}

// TestWalks compares samples, neighbours and Nearest with the results of trying all pairs of configurations.
func TestWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPart(t), drawPart(t)
		a.Template, b.Template = "a", "b"
		s, err := space.New(t.Context(), a, b)
		if err != nil || s.Len() == 0 || s.Len() > 150 {
			t.Skip()
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.IntRange(0, int(s.Len())+2).Draw(t, "n")
		sample := s.Sample(rng, n)
		slices.Sort(sample)
		if len(slices.Compact(sample)) != min(n, int(s.Len())) {
			t.Fatalf("%d of %d sampled: %v", n, s.Len(), sample)
		}
		choices := make([][]int, s.Len())
		for i := range choices {
			choices[i] = s.Choice(int64(i))
			if row := s.Features(int64(i), nil); len(row) != len(s.Dims()) || slices.Min(row) < 0 || slices.Max(row) > 1 {
				t.Fatalf("features %v of %v", row, s.Dims())
			}
		}
		i := rapid.IntRange(0, int(s.Len())-1).Draw(t, "i")
		checkNeighbours(t, s, choices, i)
		checkNearest(t, s, choices, rng, s.PartOf(int64(i)))
	})
}

func checkNeighbours(t *rapid.T, s *space.Space, choices [][]int, i int) {
	var want []int64
	for j := range choices {
		if s.PartOf(int64(i)) != s.PartOf(int64(j)) {
			continue
		}
		differ := lists.Where(lists.Places(len(choices[i])), func(k int) bool { return choices[j][k] != choices[i][k] })
		if len(differ) == 1 {
			want = append(want, int64(j))
		}
	}
	if got := s.Neighbours(int64(i)); !slices.Equal(got, want) {
		t.Fatalf("neighbours of %v: %v, want %v", s.At(int64(i)), got, want)
	}
}

func checkNearest(t *rapid.T, s *space.Space, choices [][]int, rng *rand.Rand, part int) {
	tunables := s.Parts()[part].Tunables
	goal := make([]float64, len(tunables))
	for k := range goal {
		goal[k] = 1.4*rng.Float64() - 0.2
	}
	distance := func(i int64) float64 {
		sum := 0.0
		for k, p := range positions(s, i) {
			sum += (p - goal[k]) * (p - goal[k])
		}
		return sum
	}
	got, ok := s.Nearest(part, goal)
	if !ok || s.PartOf(got) != part {
		t.Fatalf("nearest %d, %v", got, ok)
	}
	first, end := s.Range(part)
	for i := first; i < end; i++ {
		if distance(i) < distance(got)-1e-12 {
			t.Fatalf("nearest to %v is %v, not %v", goal, s.At(i), s.At(got))
		}
	}
}

// positions returns where the configuration's values lie along their tunables, from 0 (first value) to 1 (last value).
func positions(s *space.Space, i int64) (all []float64) {
	tunables := s.Parts()[s.PartOf(i)].Tunables
	for k, v := range s.Choice(i) {
		all = append(all, float64(v)/float64(max(len(tunables[k].Values)-1, 1)))
	}
	return all
}
