package trial

import "testing"

func TestSummarise(t *testing.T) {
	for _, test := range []struct {
		name    string
		samples []float64
		want    Timing
	}{
		{"none", nil, Timing{}},
		{"one", []float64{2}, Timing{Median: 2, CI95: [2]float64{2, 2}, Quartiles: [2]float64{2, 2}, Min: 2, Samples: 1}},
		{"five are bounded by their range", []float64{5, 1, 4, 2, 3}, Timing{Median: 3, CI95: [2]float64{1, 5}, Quartiles: [2]float64{2, 4}, Min: 1, Samples: 5}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Summarise(test.samples, 0)
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// The ranks of the standard tables: Hahn and Meeker, table A.15.
func TestMedianRanks(t *testing.T) {
	for _, test := range []struct{ n, low, high int }{
		{6, 0, 5}, {10, 1, 8}, {20, 5, 14}, {30, 9, 20}, {100, 39, 60},
	} {
		low, high := medianRanks(test.n)
		if low != test.low || high != test.high {
			t.Errorf("%d samples: ranks %d and %d, want %d and %d", test.n, low, high, test.low, test.high)
		}
	}
}
