package reports

import (
	"testing"

	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/strategy"
)

func TestEndText(t *testing.T) {
	low, some, none := strategy.Outlook{Target: 1.02, Chance: 0.031}, strategy.Outlook{Target: 1.05, Chance: 0.09, AtFloor: true}, strategy.Outlook{Target: 1.02, Chance: 0.004}
	for _, test := range []struct {
		stop        tuner.Stop
		outlook     *strategy.Outlook
		evaluations int
		want        string
	}{
		{tuner.Satisfied, &low, 9, "; nothing left to gain: the chance of gaining more than 2 % is 3 %"},
		{tuner.Satisfied, &none, 0, "; nothing left to gain: the chance of gaining more than 2 % is under 1 %; --target 0 goes on"},
		{tuner.AtRoofline, &some, 9, "; at the roofline: 101 % reached, and the chance of gaining more than 5 % is 9 %"},
		{tuner.TimeSpent, &low, 9, "; the time was up: the chance of gaining more than 2 % is 3 %"},
		{tuner.TimeSpent, nil, 9, ""},
		{tuner.Interrupted, &low, 9, ""},
	} {
		b := bestconfig.Document{Search: bestconfig.Search{Extent: tuner.Extent{Stop: test.stop, Outlook: test.outlook}, Evaluations: test.evaluations}, Roofline: bestconfig.Roofline{Share: 1.012}}
		if got := endText(b); got != test.want {
			t.Errorf("%s: %q, want %q", test.stop, got, test.want)
		}
	}
}
