package progress

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8/decor"

	"autotune/device/trial"
	"autotune/space"
	"autotune/tuner"
)

// A wide terminal sees the best time fall, and the templates in order. A narrow one sees nothing.
func TestGlance(t *testing.T) {
	at := func(template string, ms float64) trial.Trial {
		one := trial.Trial{Configuration: space.Configuration{Template: template}}
		one.Status, one.Time.Median = trial.OK, ms
		return one
	}
	trials := []trial.Trial{at("slow", 16), at("fast", 4), at("a template with a long name that goes on and on", 2), at("d", 8), at("e", 9), at("fast", 1)}
	var g *glance
	for i := range trials {
		best := trials[0]
		for _, one := range trials[:i+1] {
			if one.Time.Median < best.Time.Median {
				best = one
			}
		}
		g = g.next(tuner.Progress{
			Best: &best, Elapsed: time.Duration(i+1) * time.Second, Trials: trials[:i+1],
		})
	}
	lines := g.lines()
	if len(lines) != glanceRows || !strings.HasPrefix(lines[0], "    16.00 ms ") || !strings.HasPrefix(lines[3], "    1.000 ms ") {
		t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for i, want := range []string{"ms fast", "ms a template", "ms d", "ms e and 1 more"} {
		if !strings.Contains(lines[i], want) || utf8.RuneCountInString(lines[i]) > glanceColumns {
			t.Errorf("line %d: %q, want %q", i, lines[i], want)
		}
	}
	low, high := g.best[len(g.best)-1].ms, g.best[0].ms
	heights := g.heights(low, high)
	for i := 1; i < len(heights); i++ {
		if heights[i] > heights[i-1] && heights[i-1] > 0 {
			t.Errorf("the best becomes worse: %v", heights)
		}
	}
	if heights[len(heights)-1] != 1 || heights[0] != 0 || heights[glanceWidth/6] != glanceRows*eighths {
		t.Errorf("heights %v", heights)
	}
	var narrow strings.Builder
	if err := g.write(&narrow, decor.Statistics{AvailableWidth: glanceColumns - 1}); err != nil || narrow.Len() > 0 {
		t.Errorf("%q, %v", narrow.String(), err)
	}
}
