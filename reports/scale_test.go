package reports

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"pgregory.net/rapid"

	"autotune/internal/lists"
)

func TestBarScale(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		high   float64
	}{
		"one":              {[]float64{3}, 3},
		"near":             {[]float64{6, 7, 14}, 14},
		"one far away":     {[]float64{6, 7, 20, 187}, 32},
		"several far away": {[]float64{6, 7, 300, 6000}, 24},
		"two":              {[]float64{1, 100}, 4},
	} {
		if s := barScale(c.values); s.log || s.high != c.high {
			t.Errorf("%s: %+v, want one to %v", name, s, c.high)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		got  []float64
		want string
	}{
		{linearTicks(0, 14.2), "0 2 4 6 8 10 12 14"},
		{linearTicks(5.7, 6.9), "5.8 6 6.2 6.4 6.6 6.8"},
		{linearTicks(3, 3), "3"},
		{logTicks(3, 60), "5 10 20 50"},
		{logTicks(1, 70000), "1 10 100 1000 10000"},
		{logTicks(5, 9), "5 6 7 8 9"},
		{linearTicks(0, 2.5e7), "0 5e6 1e7 1.5e7 2e7 2.5e7"},
		{logTicks(1e-6, 1e9), "1e-6 0.0001 0.01 1 100 10000 1e6 1e8"},
	} {
		if got := strings.Join(lists.Of(c.got, tickLabel), " "); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// A tick is where its number is, whatever the unit and the kind of axis.
func TestScaleUnit(t *testing.T) {
	var axis plot.Axis
	for _, s := range []scale{{high: 0.0144}, {log: true, low: 0.004, high: 0.06}} {
		s.apply(&axis, 1000)
		for _, tick := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
			number, err := strconv.ParseFloat(tick.Label, 64)
			if err != nil || math.Abs(s.at(number/1000)-tick.Value) > 1e-9 {
				t.Errorf("%+v: tick %+v", s, tick)
			}
		}
	}
}

func TestTicksAreFewAndInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := math.Pow(10, rapid.Float64Range(-6, 9).Draw(t, "low"))
		high := low * rapid.Float64Range(1.01, 1e5).Draw(t, "ratio")
		for _, ticks := range [][]float64{linearTicks(low, high), logTicks(low, high)} {
			if len(ticks) < 1 || len(ticks) > 12 {
				t.Fatalf("%d ticks between %v and %v: %v", len(ticks), low, high, ticks)
			}
			for i, label := range lists.Of(ticks, tickLabel) {
				if ticks[i] < low*(1-1e-6) || ticks[i] > high*(1+1e-6) || len(label) > 9 {
					t.Fatalf("tick %v, %s, is long or not between %v and %v", ticks[i], label, low, high)
				}
			}
		}
	})
}

func TestWrapAndEllipsis(t *testing.T) {
	style := text.Style{Font: typeface(10, false, ink).Font, Handler: plot.DefaultTextHandler}
	for _, s := range []string{"", "one", strings.Repeat("word ", 100), strings.Repeat("unbroken", 50)} {
		lines := wrap(s, style, 200)
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

// Texts are measured by the font within the program, so they are as wide on every machine,
// whatever fonts that has. A lone blank is the gap between a label and its mark.
func TestTextIsAsWideEverywhere(t *testing.T) {
	for _, tt := range []struct {
		text string
		bold bool
		want float64
	}{
		{"winner: columns", false, 75.863525390625}, {"winner: columns", true, 83.42578125},
		{"3.906 ms", false, 43.189453125}, {" ", false, 2.917236328125}, {"a\x1b[2J\nb", false, 0},
	} {
		style := typeface(10.5, tt.bold, ink)
		want := tt.want
		if want == 0 { // it is drawn and measured as one harmless line
			want = float64(style.Width("a [2J b"))
		}
		if got := float64(style.Width(tt.text)); math.Abs(got-want) > 1e-9 {
			t.Errorf("%q is %v points wide, want %v", tt.text, got, want)
		}
	}
}
