package tuner_test

import (
	"testing"

	"autotune/internal/test/toy"
	"autotune/tuner"
)

// BenchmarkSearch is what the engine itself takes a trial, beside compiler and
// device, which answer at once here: random walks through 4,096 configurations.
func BenchmarkSearch(b *testing.B) {
	p := toy.Problem(b, wideToy(64), 64)
	trials := 0
	for b.Loop() {
		r := search(b, p, &fakeDevice{Evaluate: bowl}, tuner.Options{Strategy: "random"})
		trials += len(r.Trials)
	}
	b.ReportMetric(float64(trials)/b.Elapsed().Seconds(), "trials/s")
}
