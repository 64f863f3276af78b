package trial

import (
	"math"
	"math/rand/v2"
	"testing"
)

// turnsOf draws a run: a variant's medians on both sides of each turn, around ms.
func turnsOf(r *rand.Rand, n int, ms, drift, noise float64) (first, second []float64) {
	for range n {
		level := ms * math.Exp(drift*r.NormFloat64())
		first = append(first, level*math.Exp(noise*r.NormFloat64()))
		second = append(second, level*math.Exp(noise*r.NormFloat64()))
	}
	return first, second
}

// A variant that did not change is taken for slower in one run of 1000 or less. So it is on
// quiet machines, on noisy ones and on those that drift. A clear change is seen.
func TestNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name         string
		drift, noise float64
		slower       float64 // a change that must be seen
	}{
		{"quiet", 0, 0.0005, 1.01},
		{"noisy", 0, 0.01, 1.15},
		{"drifts", 0.01, 0.002, 1.15},
	} {
		const runs = 6000
		for _, recorded := range []int{0, 3, 6} {
			alarms, seen := 0, 0
			for range runs {
				was, _ := turnsOf(r, max(1, recorded), 2, c.drift, c.noise)
				before := Median(was)
				first, second := turnsOf(r, 6, 2, c.drift, c.noise)
				now, noise := Noise(first, second, recorded)
				if now > before*(1+noise) {
					alarms++
				}
				if now*c.slower > before*(1+noise) {
					seen++
				}
			}
			if alarms > runs/500 {
				t.Errorf("%s, %d turns recorded: %d false alarms in %d runs", c.name, recorded, alarms, runs)
			}
			if recorded > 0 && seen < runs*9/10 {
				t.Errorf("%s, %d turns recorded: %.3gx seen in %d of %d runs", c.name, recorded, c.slower, seen, runs)
			}
		}
	}
}

func TestNoiseBounds(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second []float64
		now, least    float64
	}{
		{"no noise at all", []float64{2, 2, 2}, []float64{2, 2, 2}, 2, Resolution},
		{"one turn", []float64{1.1}, []float64{1}, math.Sqrt(1.1), 0.1},
		{"the sides differ", []float64{1.1, 1.1}, []float64{1, 1}, math.Sqrt(1.1), 0.1},
	} {
		now, noise := Noise(c.first, c.second, 1)
		if math.Abs(now-c.now) > 1e-9 || math.Abs(noise-c.least) > 1e-9 {
			t.Errorf("%s: %v ms, noise %v; want %v ms, %v", c.name, now, noise, c.now, c.least)
		}
	}
}
