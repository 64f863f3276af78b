package verify

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"autotune/device"
	"autotune/operator"
)

func TestMismatchMessage(t *testing.T) {
	y := operator.Argument{Name: "y", Type: operator.F32, Shape: []int64{2, 3, 4}, Elements: 24, ATol: 1e-4, RTol: 1e-4}
	words := []uint64{3, ^uint64(17), 2, 2, uint64(math.Float32bits(0.5)), 99, 98}
	o := outcomeFrom(y, words)
	if want := (outcome{Mismatches: 3, First: 17, Unwritten: 2, NotFinite: 2, LargestError: 0.5, ReferenceSum: 99, OutputSum: 98}); o != want {
		t.Fatalf("outcomeFrom = %+v, want %+v", o, want)
	}
	one := operator.Argument{Name: "y", Type: operator.F32, Shape: []int64{1}, Elements: 1}
	c := operator.Argument{Name: "c", Type: operator.U64, Shape: []int64{3}, Elements: 3}
	for _, test := range []struct{ got, want string }{
		{mismatchMessage(y, o, "NaN", "1.5"), "y differs from the reference in 3 of 24 elements, first at [1 1 1]: NaN instead of 1.5 " +
			"(2 never written, largest error 0.5, allowed 0.0001 + 0.0001*|reference|)"},
		{mismatchMessage(one, outcome{Mismatches: 1, Unwritten: 1, NotFinite: 2}, "NaN", "1.5"), "y differs from the reference in 1 of 1 element, " +
			"first at [0]: NaN instead of 1.5 (1 never written, 1 NaN or infinite where the other is not, largest error 0, allowed 0 + 0*|reference|)"},
		{mismatchMessage(c, outcomeFrom(c, []uint64{2, ^uint64(1), 1, 0, math.Float64bits(1 << 40), 0, 0}), "18446744073709551615", "7"),
			"c differs from the reference in 2 of 3 elements, first at [1]: 18446744073709551615 instead of 7 " +
				"(1 as before, largest error 1099511627776, allowed 0 + 0*|reference|)"},
		{zoneMessage([]uint64{7, 1}, []operator.Argument{one}), "it wrote outside its tensors: 1 word before y"},
	} {
		if test.got != test.want {
			t.Errorf("message\n%s\nwant\n%s", test.got, test.want)
		}
	}
}

func TestZoneMessage(t *testing.T) {
	got := zoneMessage([]uint64{7, 0, 0, 3, 4}, []operator.Argument{{Name: "x"}, {Name: "y"}})
	if want := "it wrote outside its tensors: 3 words before y, 4 words after y"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A mean of large numbers may be small, and is still as inexact as these numbers. The outputs of a softmax do not grow
// with its inputs, so its tolerance does not grow either.
func TestToleranceOf(t *testing.T) {
	of := func(at operator.Type, atol float64) (a operator.Argument) {
		a.Type, a.ATol = at, atol
		return a
	}
	for _, tt := range []struct {
		name, distribution string
		argument           operator.Argument
		largest, want      float64
	}{
		{"as the operator says", "normal", of(operator.F32, 1e-6), 1e9, 1e-6},
		{"mean", operator.Large, of(operator.F32, 1e-6), 0x1p47, 1e-6 * 0x1p50},
		{"sum", operator.Large, of(operator.F32, 1e-6), 0x1p55, 1e-6 * 0x1p55},
		{"softmax", operator.Large, of(operator.F32, 1e-6), 1, 1e-6},
		{"norm of rows", operator.Large, of(operator.F32, 0x1p-20), 32, 0x1p-15},
		{"f16", operator.Large, of(operator.F16, 1e-3), 0x1p6, 1e-3 * 0x1p9},
		{"squares that vanish", operator.Tiny, of(operator.F32, 1e-30), 0, leastSquared},
		{"exact", operator.Tiny, of(operator.F32, 0), 0, 0},
		{"integers", operator.Large, of(operator.I32, 0), 0x1p50, 0},
	} {
		if got := ToleranceOf(tt.argument, tt.distribution, tt.largest); got != tt.want {
			t.Errorf("%s: %g, want %g", tt.name, got, tt.want)
		}
	}
}

// simulate takes the samples that sampling asks for, from a variant that always takes ms milliseconds, and returns
// the number of samples in each spell (uninterrupted series).
func simulate(s *Sampling, ms float64) (spells []int) {
	for len(spells) < 1000 {
		n := s.Next(ms)
		if n == 0 {
			break
		}
		spells = append(spells, n)
		for range n {
			s.Samples = append(s.Samples, ms)
			s.Spent += time.Duration(ms * float64(time.Millisecond))
		}
	}
	return spells
}

func TestSampling(t *testing.T) {
	proto := device.DefaultProtocol() // 30 samples, 5 at least, 300 ms, ratio 1.15
	for _, tt := range []struct {
		name     string
		ms, best float64
		spells   []int
		dropped  bool
	}{
		{"the first variant", 1.5, 0, []int{5, 25}, false},
		{"the new best", 1.5, 2, []int{2, 2, 4}, false},
		{"short and good", 0.1, 0.1, []int{5, 5}, false},
		{"behind", 1.5, 1.2, []int{2}, true},
		{"a little behind", 1.5, 1.46, []int{2}, true},
		{"hardly behind", 1.5, 1.49, []int{2, 2, 4}, false},
		{"short and hopeless", 0.3, 0.1, []int{5}, true},
		{"hopeless", 5, 1.5, []int{2}, true},
		{"slow, and the first", 40, 0, []int{5, 2, 1}, false},
		{"very slow, and the first", 2000, 0, []int{1}, false},
		{"slow, and the best", 90, 90, []int{2, 1, 1}, false},
	} {
		s := &Sampling{Protocol: proto, Best: tt.best}
		if spells := simulate(s, tt.ms); !slices.Equal(spells, tt.spells) || s.Dropped != tt.dropped {
			t.Errorf("%s: spells %v, dropped %v; want %v, %v", tt.name, spells, s.Dropped, tt.spells, tt.dropped)
		}
	}
}

// Racing does not drop a variant that is as fast as the best, whatever its noise, and drops a clearly slower one early.
func TestRacing(t *testing.T) {
	const runs = 4000
	for _, tt := range []struct {
		spread, behind float64
		dropped        [2]float64 // share of the runs, at least and at most
		samples        float64    // in the mean, at most
	}{
		{0.001, 1, [2]float64{0, 0}, 30},
		{0.01, 1, [2]float64{0, 0.002}, 30},
		{0.05, 1, [2]float64{0, 0.005}, 30},
		{0.2, 1, [2]float64{0, 0.005}, 30},
		{0.001, 1.03, [2]float64{0.99, 1}, 4.1},
		{0.01, 1.1, [2]float64{0.99, 1}, 8},
		{0.05, 1.5, [2]float64{0.99, 1}, 9},
	} {
		proto := device.DefaultProtocol()
		proto.DropRatio = 100 // so that only the sequential test drops variants
		random := rand.New(rand.NewPCG(1, 2))
		dropped, taken := 0, 0
		for range runs {
			s := &Sampling{Protocol: proto, Best: 2}
			for n := s.Next(2); n > 0; n = s.Next(2) {
				for range n {
					s.Samples = append(s.Samples, 2*tt.behind*math.Exp(tt.spread*random.NormFloat64()))
				}
			}
			taken += len(s.Samples)
			if s.Dropped {
				dropped++
			}
		}
		share, mean := float64(dropped)/runs, float64(taken)/runs
		if share < tt.dropped[0] || share > tt.dropped[1] || mean > tt.samples {
			t.Errorf("spread %v, %v times the best: dropped %.4f of the time after %.1f samples, want %v and %v at most",
				tt.spread, tt.behind, share, mean, tt.dropped, tt.samples)
		}
	}
}

func TestVerifyingLaunchShowsTheHopeless(t *testing.T) {
	for _, tt := range []struct {
		launch, best float64
		lost         bool
	}{{3.1, 2, true}, {2.9, 2, false}, {0.9, 0.1, false}, {100, 0, false}} {
		s := &Sampling{Protocol: device.DefaultProtocol(), Best: tt.best}
		if got := s.Lost(tt.launch); got != tt.lost {
			t.Errorf("a launch of %v ms beside %v: lost %v, want %v", tt.launch, tt.best, got, tt.lost)
		}
	}
	if s := (&Sampling{Best: 1}); s.Lost(100) {
		t.Error("lost a race that nobody runs")
	}
}

func TestSamplingEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		proto := device.Protocol{
			Samples:     rapid.IntRange(-1, 200).Draw(t, "samples"),
			MinSamples:  rapid.IntRange(-1, 50).Draw(t, "least"),
			MeasureTime: time.Duration(rapid.IntRange(0, 500).Draw(t, "time")) * time.Millisecond,
			DropRatio:   rapid.Float64Range(0, 3).Draw(t, "ratio"),
		}
		s := &Sampling{Protocol: proto, Best: rapid.Float64Range(0, 10).Draw(t, "best")}
		spells := simulate(s, rapid.Float64Range(1e-4, 100).Draw(t, "ms"))
		if n := len(s.Samples); n < 1 || n > max(proto.Samples, 1) {
			t.Fatalf("%d samples in spells %v", n, spells)
		}
	})
}

func TestBatchFor(t *testing.T) {
	for _, tt := range []struct {
		ms   float64
		want int
	}{{1, 1}, {0.02, 1}, {0.019, 6}, {0.005, 20}, {0.0001, 256}, {0, 256}} {
		if got := BatchFor(tt.ms, 20*time.Microsecond); got != tt.want {
			t.Errorf("BatchFor(%g) = %d, want %d", tt.ms, got, tt.want)
		}
	}
}

// For long launches, a confidence interval of 1 % is narrow enough, so that the search's time goes to other variants.
func TestCostlySamples(t *testing.T) {
	for spent, enough := range map[time.Duration]bool{10 * time.Millisecond: false, 60 * time.Millisecond: true} {
		for best, racing := range map[float64]bool{0: false, 6.5: true} {
			s := Sampling{Protocol: device.DefaultProtocol(), Best: best, Spent: spent, Samples: []float64{6.48, 6.49, 6.5, 6.5, 6.51, 6.52, 6.49, 6.51}}
			if got := s.Next(6.6) == 0; got != (enough && racing) {
				t.Errorf("after %v beside %g ms, enough is %v", spent, best, got)
			}
		}
	}
}
