package strategy_test

import (
	"testing"

	"autotune/tuner/strategy"
)

// A search whose chance of a gain is still high does not end because its best time is at the roofline, or because it
// has taken long.
func TestOutlookOver(t *testing.T) {
	for _, test := range []struct {
		chance           float64
		floor            bool
		seconds          float64
		near, sure, over bool
	}{
		{0.04, false, 0, true, true, true},
		{0.04, true, 0, true, true, true},
		{0.06, false, 0, true, false, false},
		{0.06, true, 0, true, false, true},
		{0.16, false, 0, false, false, false},
		{0.5, true, 0, false, false, false},
		{0.06, false, 3.9, true, false, false},
		{0.06, false, 6, true, true, true},
		{0.14, false, 60, true, true, true},
		{0.16, true, 600, true, false, false},
	} {
		o := strategy.Outlook{Target: 1.02, Chance: test.chance, AtFloor: test.floor, Seconds: test.seconds}
		if o.Near() != test.near || o.Sure() != test.sure || o.Over() != test.over {
			t.Errorf("%+v: near %v, sure %v, over %v", o, o.Near(), o.Sure(), o.Over())
		}
	}
}

// After many outcomes without a gain, the chance of a gain is low whatever the model expects. Outcomes of variants that
// failed do not lower the chance of a gain.
func TestChanceFallsWithTime(t *testing.T) {
	s := gridSpace(t, 30, 30, 30)
	ids := s.Sample(seeded(1), 160)
	noise := seeded(2)
	values := make([]float64, len(ids))
	for i := range values {
		values[i] = 1 + noise.Float64()
	}
	values[0] = 0.995 // the first is the best
	chance := func(n int, failing bool) float64 {
		var seen []strategy.Seen
		for i, id := range ids[:n] {
			seen = append(seen, strategy.Seen{ID: id, Outcome: strategy.Outcome{OK: !failing || i < 40, Score: values[i]}})
		}
		return strategy.Look(s, seen, nil, 1.02, 1).Chance
	}
	early, late, failed := chance(40, false), chance(160, false), chance(160, true)
	if !(late < early/1.5) || !(failed > late) {
		t.Errorf("after 40 outcomes %.3f, after 160 %.3f, of which 120 failed %.3f", early, late, failed)
	}
}
