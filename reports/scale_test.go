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
