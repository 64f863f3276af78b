package reports

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"
)

func TestBarScale(t *testing.T) {
	for _, c := range []struct {
		name     string
		values   []float64
		log, cut bool
	}{
		{"one", []float64{3}, false, false},
		{"near", []float64{6, 7, 14}, false, false},
		{"one far away", []float64{6, 7, 14, 187}, false, true},
		{"several far away", []float64{6, 7, 300, 6000}, true, false},
		{"two", []float64{1, 100}, true, false},
		{"a ladder", []float64{1, 9, 11}, true, false},
	} {
		s := barScale(c.values)
		if s.log != c.log || (s.cut > 0) != c.cut {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func labels(ticks []plot.Tick) string {
	var words []string
	for _, tick := range ticks {
		words = append(words, tick.Label)
	}
	return strings.Join(words, " ")
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		got  []plot.Tick
		want string
	}{
		{linearTicks(0, 14.2, 1), "0 2 4 6 8 10 12 14"},
		{linearTicks(0, 0.0144, 1000), "0 2 4 6 8 10 12 14"},
		{linearTicks(5.7, 6.9, 1), "5.8 6 6.2 6.4 6.6 6.8"},
		{linearTicks(3, 3, 1), "3"},
		{logTicks(3, 60, 1), "5 10 20 50"},
		{logTicks(1, 70000, 1), "1 10 100 1000 10000"},
		{logTicks(5, 9, 1), "5 6 7 8 9"},
		{logTicks(0.004, 0.06, 1000), "5 10 20 50"},
	} {
		if got := labels(c.got); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestTicksAreFewAndInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(1e-4, 1e4).Draw(t, "low")
		high := low * rapid.Float64Range(1.01, 1e5).Draw(t, "ratio")
		for _, ticks := range [][]plot.Tick{linearTicks(low, high, 1), logTicks(low, high, 1)} {
			if len(ticks) < 1 || len(ticks) > 12 {
				t.Fatalf("%d ticks between %v and %v: %s", len(ticks), low, high, labels(ticks))
			}
			for _, tick := range ticks {
				if tick.Value < low*(1-1e-6) || tick.Value > high*(1+1e-6) {
					t.Fatalf("tick %v is not between %v and %v", tick.Value, low, high)
				}
			}
		}
	})
}

func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var notes []note
		for _, y := range rapid.SliceOfN(rapid.Float64Range(0, 100), 1, 5).Draw(t, "heights") {
			notes = append(notes, note{y: vg.Length(y)})
		}
		spread(notes, 12, 0, 100)
		if !slices.IsSortedFunc(notes, func(a, b note) int { return int(math.Copysign(1, float64(a.y-b.y))) }) {
			t.Fatalf("out of order: %v", notes)
		}
		for i, n := range notes {
			if n.y < -1e-9 || n.y > 100+1e-9 || i > 0 && n.y-notes[i-1].y < 12-1e-9 {
				t.Fatalf("notes overlap or leave the plot: %v", notes)
			}
		}
	})
}

func TestWrapAndEllipsis(t *testing.T) {
	style := text.Style{Font: typeface(10, false, ink).Font, Handler: plot.DefaultTextHandler}
	for _, s := range []string{"", "one", strings.Repeat("word ", 100), strings.Repeat("unbroken", 50)} {
		lines := wrap(s, style, 200, 2)
		if len(lines) > 2 {
			t.Errorf("%d lines", len(lines))
		}
		for _, line := range lines {
			if style.Width(line) > 200 {
				t.Errorf("%q is %v wide", line, style.Width(line))
			}
		}
	}
}
