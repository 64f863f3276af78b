package simulate

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/interp"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

func at(curve interp.Predictor, places []float64) []float64 {
	values := make([]float64, len(places))
	for i, x := range places {
		values[i] = curve.Predict(x)
	}
	return values
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// The values from 1 to 9 have the optimum 1 and the median 5. The value 3 lies halfway from the median to the optimum,
// and 6 values exceed it, so random search needs 6/(10-6) = 1.5 draws. The value 1.2 lies 95 % of the way to the
// optimum, and 8 values exceed it, so random search needs 8/(10-8) = 4 draws.
func TestWindow(t *testing.T) {
	valid := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	for share, want := range map[float64]int{0: 1, 0.5: 2, 0.95: 4, 1: 4} {
		if got := evaluationsTo(valid, share); got != want {
			t.Errorf("%v of the way takes %d evaluations, want %d", share, got, want)
		}
	}
	var rows []Row
	for _, v := range valid {
		rows = append(rows, Row{true, v, 10 * v})
	}
	// The value 4.96 lies 1 % of the way from the median to the optimum, which takes 5/(10-5) = 1 evaluation; the
	// median evaluation takes 50 ms.
	if got := windowOf(rows, valid); got != (Window{50, 200, 4}) {
		t.Errorf("window %+v", got)
	}
	// If all values of a recording are equal, the window still has a positive length.
	if got := windowOf(rows[:2], []float64{4, 4}); !(got.ToMS > got.FromMS) {
		t.Errorf("window %+v", got)
	}
}

func TestAfterDraws(t *testing.T) {
	valid := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	// If m of 9 ranks are drawn, the expected rank of the best draw, counted from the worst, is m*10/(m+1): 5 for m=1,
	// 6.7 for 2, 8 for 4 and 9.9 for 100.
	for m, want := range map[int]float64{1: 4, 2: 2, 4: 1, 100: 1} {
		if got := afterDraws(valid, m); got != want {
			t.Errorf("after %d draws %v, want %v", m, got, want)
		}
	}
}

// A successful evaluation also bears its share of the cost of failures: (10+20)/2 + 1/3 * 6.
func TestMeanCost(t *testing.T) {
	if got := meanCost([]Row{{true, 1, 10}, {true, 2, 20}, {false, 0, 6}}); !near(got, 17) {
		t.Errorf("mean cost %v, want 17", got)
	}
}

func TestBaselineGoesThroughTheDraws(t *testing.T) {
	valid := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	var rows []Row
	for _, v := range valid {
		rows = append(rows, Row{true, v, 10})
	}
	b := newBaseline(rows, valid, 200)
	for ms, want := range map[float64]float64{0: 4, 10: 4, 20: 2, 200: 1, 900: 1} {
		if got := b(ms); !near(got, want) {
			t.Errorf("at %v: %v, want %v", ms, got, want)
		}
	}
	last := math.Inf(1)
	for ms := 0.0; ms < 200; ms++ {
		now := b(ms)
		if now > last+1e-12 {
			t.Fatalf("the baseline rises at %v", ms)
		}
		last = now
	}
}

func TestNonDecreasing(t *testing.T) {
	for name, c := range map[string]struct {
		in   []step
		want []float64 // at x = 0, 1, 2, 3
	}{
		"rising":   {[]step{{0, 1, 1}, {1, 2, 1}, {3, 4, 1}}, []float64{1, 2, 3, 4}},
		"falling":  {[]step{{0, 3, 1}, {1, 2, 1}, {2, 1, 1}}, []float64{2, 2, 2, 2}},
		"violator": {[]step{{0, 1, 1}, {1, 5, 1}, {2, 3, 1}, {3, 6, 1}}, []float64{1, 4, 4, 6}},
		"weighed":  {[]step{{0, 6, 1}, {1, 3, 2}}, []float64{4, 4, 4, 4}},
		"tied":     {[]step{{0, 1, 1}, {0, 3, 1}, {1, 5, 1}}, []float64{2, 5, 5, 5}},
	} {
		if got := at(nonDecreasing(c.in), []float64{0, 1, 2, 3}); !slices.EqualFunc(got, c.want, near) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The isotonic regression never decreases and keeps the mean.
func TestNonDecreasingProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heights := rapid.SliceOfN(rapid.Float64Range(-10, 10), 1, 30).Draw(t, "heights")
		var in []step
		var places []float64
		for i, h := range heights {
			in = append(in, step{float64(i), h, 1})
			places = append(places, float64(i))
		}
		got := at(nonDecreasing(in), places)
		for i := 1; i < len(got); i++ {
			if got[i] < got[i-1]-1e-9 {
				t.Fatalf("falls: %v", got)
			}
		}
		if math.Abs(stat.Mean(got, nil)-stat.Mean(heights, nil)) > 1e-9 {
			t.Fatalf("mean %v, want %v", stat.Mean(got, nil), stat.Mean(heights, nil))
		}
	})
}

func TestRelative(t *testing.T) {
	for _, c := range [][4]float64{{4, 4, 1, 0}, {1, 4, 1, 1}, {2.5, 4, 1, 0.5}, {7, 4, 1, -1}, {1, 1, 1, 1}, {2, 1, 1, 0}} {
		if got := relative(c[0], c[1], c[2]); !near(got, c[3]) {
			t.Errorf("relative(%v, %v, %v) = %v, want %v", c[0], c[1], c[2], got, c[3])
		}
	}
}

// In the two simulated repeats, the best configurations at 10 ms have the ranks 4 and 2, and those at 20 ms the ranks 2
// and 0.
func TestCurve(t *testing.T) {
	g := &game{valid: []float64{1, 2, 3, 4, 5}, times: []float64{5, 10, 15, 20, 30}, baseline: []float64{5, 5, 5, 5, 5}}
	p := []sample{{10, 4, 0}, {10, 2, 1}, {20, 2, 0}, {20, 0, 1}}
	// The mean ranks of the two repeats are 3 at 10 ms and 1 at 20 ms; these ranks have the values 4 and 2, on a scale
	// whose worst value is 5 and whose best is 1.
	if got, want := g.curve(p, []float64{1, 1}), []float64{0.25, 0.25, 0.5, 0.75, 0.75}; !slices.EqualFunc(got, want, near) {
		t.Errorf("curve %v, want %v", got, want)
	}
	if got, want := g.curve(p, []float64{0, 2}), []float64{0.5, 0.5, 0.75, 1, 1}; !slices.EqualFunc(got, want, near) {
		t.Errorf("curve of the second %v, want %v", got, want)
	}
	if got := g.curve(nil, nil); !slices.EqualFunc(got, []float64{0, 0, 0, 0, 0}, near) {
		t.Errorf("curve of nothing %v", got)
	}
}

func TestInterval95(t *testing.T) {
	var scores []float64
	for i := range 201 {
		scores = append(scores, float64(200-i))
	}
	if got := interval95(scores); !near(got[0], 5) || !near(got[1], 195) {
		t.Errorf("interval %v, want 5 to 195", got)
	}
}

// A run ends when its context is cancelled, even between evaluations.
func TestPlayEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g := newGame(&Recording{Rows: []Row{{true, 1, 1}, {true, 2, 1}}})
	if got := g.play(ctx, &scripted{0, 1}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
