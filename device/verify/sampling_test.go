package verify

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"autotune/device"
)

// simulate takes the samples that sampling asks for from a variant that always
// takes ms, and tells the lengths of the spells.
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

// A variant as fast as the best stays in the race, whatever its noise; one that is clearly behind leaves it early.
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
		proto.DropRatio = 100 // leaves the sequential test alone
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

// Where launches are long, an interval of 1 % is narrow enough: others are tried meanwhile.
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
