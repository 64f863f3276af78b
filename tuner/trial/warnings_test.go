package trial_test

import (
	"strings"
	"testing"

	"autotune/tuner/trial"
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
			if !strings.Contains(got[i], part) {
				t.Errorf("%s: %q, want it to say %q", test.name, got[i], part)
			}
		}
	}
}
