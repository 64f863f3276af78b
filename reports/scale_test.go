package reports

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
)

func TestEnding(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   float64
	}{
		"one":              {[]float64{3}, 3},
		"near":             {[]float64{6, 7, 14}, 14},
		"one far away":     {[]float64{6, 7, 20, 187}, 32},
		"several far away": {[]float64{6, 7, 300, 6000}, 24},
		"two":              {[]float64{1, 100}, 4},
	} {
		if got := ending(c.values); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
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

// Texts are measured with a font inside the program, so their width must be the same on every machine.
func TestTextIsAsWideEverywhere(t *testing.T) {
	for _, tt := range []struct {
		bold bool
		want float64
	}{{false, 75.863525390625}, {true, 83.42578125}} {
		if got := float64(typeface(10.5, tt.bold, ink).Width("winner: columns")); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("bold %v is %v points wide, want %v", tt.bold, got, tt.want)
		}
	}
}
