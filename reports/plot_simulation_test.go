package reports

import (
	"fmt"
	"math"
	"testing"

	"autotune/tuner/simulate"
	"autotune/tuner/strategy"
)

// simulated is a report of made-up curves.
func simulated(recordings, strategies int) *simulate.Report {
	r := &simulate.Report{Repeats: 50}
	for k := range recordings {
		r.Recordings = append(r.Recordings, simulate.About{Name: string(rune('a'+k)) + "_recording"})
	}
	for i := range strategies {
		s := simulate.Standing{Strategy: string(rune('p' + i)), Mean: 0.9 - 0.2*float64(i)}
		for range recordings {
			curve := make([]float64, 100)
			for t := range curve {
				curve[t] = s.Mean * (1 - math.Exp(-float64(t)/20)) * float64(1-2*(i/6))
			}
			s.Scores = append(s.Scores, simulate.Score{Strategy: s.Strategy, Score: s.Mean, Curve: curve})
		}
		r.Strategies = append(r.Strategies, s)
	}
	return r
}

// A strategy looks the same whatever its place, and unlike any other.
func TestStrategyStyles(t *testing.T) {
	looks := map[string]string{}
	for _, order := range [][]string{strategy.Names(), {"random", "own", "other"}} {
		r := simulated(1, len(order))
		for i, name := range order {
			r.Strategies[i].Strategy = name
		}
		for i, name := range order {
			style := styleOf(r.Strategies, i)
			look := fmt.Sprint(style.Color, style.Dashes)
			if known, twice := looks[look]; twice && known != name {
				t.Errorf("%s and %s look the same", known, name)
			}
			if name == "random" && looks[look] != name && len(looks) > len(strategy.Names())-1 {
				t.Errorf("%s changed its looks", name)
			}
			looks[look] = name
		}
	}
}
