package tuner_test

import (
	"testing"

	"autotune/tuner"
)

// BenchmarkSearch is what the engine itself takes a trial, beside compiler and
// device, which answer at once here: random walks through 4,096 configurations.
func BenchmarkSearch(b *testing.B) {
	p := problemFrom(b, "toy", wideToy(64), 64)
	trials := 0
	for b.Loop() {
		r, err := tuner.Search(b.Context(), p, &fakeDevice{evaluate: bowl}, tuner.Options{Strategy: "random"})
		if err != nil {
			b.Fatal(err)
		}
		trials += len(r.Trials)
	}
	b.ReportMetric(float64(trials)/b.Elapsed().Seconds(), "trials/s")
}
