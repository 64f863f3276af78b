package trial_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"autotune/device/trial"
)

func TestTimingWarnings(t *testing.T) {
	for _, test := range []struct {
		name    string
		samples []float64
		want    []string
	}{
		{"none taken", nil, nil},
		{"steady", []float64{1, 1.01, 1, 1.02, 1, 1.01}, nil},
		{"few", []float64{1, 1, 1, 1, 1}, []string{"5 samples are too few"}},
		{"an outlier is no noise", []float64{1, 1, 1, 1, 1, 9}, nil},
		{"noisy", []float64{1, 1.2, 1, 1.2, 1, 1.2, 1.1}, []string{"spreads over 18.2 %"}},
		{"few and noisy", []float64{1, 2}, []string{"2 samples", "noisy"}},
	} {
		got := trial.Summarise(test.samples, 0).Warnings()
		if len(got) != len(test.want) {
			t.Errorf("%s: %q, want %d warnings", test.name, got, len(test.want))
			continue
		}
		for i, part := range test.want {
			if !strings.Contains(got[i].String(), part) {
				t.Errorf("%s: %q, want it to say %q", test.name, got[i], part)
			}
		}
	}
}

// A warning is stored as a JSON object; a plain text is not accepted in its place.
func TestWarningsAreStored(t *testing.T) {
	for _, test := range []struct {
		stored, said string
	}{
		{`{"kind":"throttled","reason":"power limit"}`, "throttled: power limit"},
		{`{"kind":"clock_moved","low_mhz":1770,"high_mhz":1920}`, "the clock moved between 1770 and 1920 MHz during the samples"},
		{`{"kind":"noisy","noise":0.074,"trials":3}`, "noisy samples: the middle half spreads over 7.4 % of the median"},
	} {
		var w trial.Warning
		if err := json.Unmarshal([]byte(test.stored), &w); err != nil || w.String() != test.said {
			t.Errorf("%s is read as %q, %v; want %q", test.stored, w, err, test.said)
		}
		if again, err := json.Marshal(w); err != nil || string(again) != test.stored {
			t.Errorf("%s is stored again as %s, %v", test.stored, again, err)
		}
	}
	for _, wrong := range []string{`17`, `"throttled: power limit"`, `["throttled"]`, `{"kind":1}`} {
		if err := json.Unmarshal([]byte(wrong), new(trial.Warning)); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

func TestGather(t *testing.T) {
	measured := func(dropped bool, samples []float64, warnings ...trial.Warning) trial.Trial {
		t := trial.Trial{Outcome: trial.Outcome{Status: trial.OK, Warnings: warnings, Dropped: dropped}}
		t.SetSamples(samples, 1)
		return t
	}
	steady, few := []float64{1, 1, 1, 1, 1, 1}, []float64{1, 1}
	power, heat := trial.Warning{Kind: trial.Throttled, Reason: "power limit"}, trial.Warning{Kind: trial.Throttled, Reason: "temperature (driver)"}
	got := trial.Gather([]trial.Trial{
		measured(false, steady, heat),
		measured(false, steady, power, power, trial.Warning{Kind: trial.ClockMoved, LowMHz: 1500, HighMHz: 1900}),
		measured(false, few, power),
		measured(true, few, trial.Warning{Kind: trial.ClockMoved, LowMHz: 1600, HighMHz: 1980}),
		{Outcome: trial.Outcome{Status: trial.Crashed}},
	})
	power.Trials, heat.Trials = 2, 1
	want := []trial.Warning{
		power, heat, {Kind: trial.ClockMoved, LowMHz: 1500, HighMHz: 1980, Trials: 2},
		{Kind: trial.FewSamples, Samples: 2, Trials: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	if again := trial.Gather(nil); again != nil || trial.Sum(again, 0) != "" {
		t.Errorf("of nothing: %v", again)
	}
	const line = "of 5 trials: 2 throttled: power limit, 1 throttled: temperature (driver), 2 while the clock moved (1500 to 1980 MHz), " +
		"1 with too few samples for an interval"
	if got := trial.Sum(got, 5); got != line {
		t.Errorf("in words %q, want %q", got, line)
	}
}

// The joined outcome of several final rounds has every warning of each round.
func TestJoinKeepsWarnings(t *testing.T) {
	o := trial.Outcome{Status: trial.OK, Warnings: []trial.Warning{{Kind: trial.ClockMoved, LowMHz: 1500, HighMHz: 1800}}}
	o.Join(trial.Outcome{Status: trial.OK, Warnings: []trial.Warning{{Kind: trial.ClockMoved, LowMHz: 1700, HighMHz: 1900}, {Kind: trial.Throttled, Reason: "power brake"}}})
	want := []trial.Warning{{Kind: trial.ClockMoved, LowMHz: 1500, HighMHz: 1900}, {Kind: trial.Throttled, Reason: "power brake"}}
	if !reflect.DeepEqual(o.Warnings, want) {
		t.Errorf("%+v", o)
	}
}
