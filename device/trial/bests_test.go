package trial

import (
	"maps"
	"testing"

	"autotune/space"
)

func TestBests(t *testing.T) {
	of := func(template string, status Status, ms float64) (t Trial) {
		t.Configuration, t.Status, t.Time = space.Configuration{Template: template}, status, Timing{Median: ms}
		return t
	}
	best := Bests([]Trial{of("a", OK, 3), of("a", OK, 2), of("a", WrongResult, 1), of("b", CompileError, 0), of("c", OK, 5), of("c", OK, 6)})
	got := map[string]float64{}
	for name, one := range best {
		got[name] = one.Time.Median
	}
	if !maps.Equal(got, map[string]float64{"a": 2, "c": 5}) {
		t.Error(got)
	}
}
