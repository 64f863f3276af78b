package tuner_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"autotune/device/trial"
	"autotune/internal/test/toy"
	"autotune/space"
	"autotune/tuner"
)

// twins is the text of an operator with ten equal configurations and a slower default.
var twins = toy.OpYAML("twins", "tunables: {twin: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}", "default: {twin: 0}")

// noisy returns an outcome with the noise of a quiet GPU: launches vary by 0.25 %, and whole rounds by 0.05 %.
func noisy(r *rand.Rand, ms float64) trial.Outcome {
	o := trial.Outcome{Status: trial.OK}
	ms *= 1 + 0.0005*r.NormFloat64()
	samples := make([]float64, 30)
	for i := range samples {
		samples[i] = ms * (1 + 0.0025*r.NormFloat64())
	}
	o.SetSamples(samples, 1)
	return o
}

// Ten configurations with the same kernel form one tie set, and the same configuration wins whatever the noise is. A
// kernel that is 1 % faster than all others ties with none of them.
func TestTies(t *testing.T) {
	for _, test := range []struct {
		name       string
		factor     func(twin int64) float64
		ties       int // size of the tie set, with the winner
		winner     int64
		everyTime  int // least number of 20 seeds with this result
		registered func(twin int64) trial.Resources
	}{
		{"equals", func(int64) float64 { return 1 }, 10, 1, 19, nil},
		{"one apart", func(twin int64) float64 {
			if twin == 7 {
				return 0.99
			}
			return 1
		}, 0, 7, 20, nil},
		{"the leanest", func(int64) float64 { return 1 }, 10, 4, 19, func(twin int64) trial.Resources {
			return trial.Resources{Registers: 32 + int((twin+6)%10)}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, right, answers := toy.Problem(t, twins, 64), 0, map[string]int{}
			for seed := range uint64(20) {
				random := rand.New(rand.NewPCG(seed, 1))
				d := &fakeDevice{Evaluate: func(c space.Configuration) (trial.Outcome, error) {
					twin := number(c, "twin")
					if twin == 0 {
						return noisy(random, 2), nil
					}
					o := noisy(random, test.factor(twin))
					if test.registered != nil {
						o.Resources = test.registered(twin)
					}
					return o, nil
				}}
				r := search(t, p, d, tuner.Options{Seed: seed})
				answers[fmt.Sprintf("%s of %d", r.Winner.Configuration, len(r.Ties))]++
				if len(r.Ties) == test.ties && number(r.Winner.Configuration, "twin") == test.winner {
					right++
				}
				if r.Default == nil || r.Default.FinalRounds == 0 {
					t.Errorf("seed %d: the default was not timed as the winner was", seed)
				}
			}
			if right < test.everyTime {
				t.Errorf("winners and ties %v; want twin=%d of %d at least %d times in 20", answers, test.winner, test.ties, test.everyTime)
			}
		})
	}
}
