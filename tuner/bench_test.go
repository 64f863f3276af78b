package tuner_test

import (
	"strings"
	"testing"

	"autotune/tuner"
)

// BenchmarkSearch is what the engine itself takes a trial, beside compiler and
// device, which answer at once here: random walks through 4,096 configurations.
func BenchmarkSearch(b *testing.B) {
	wide := strings.NewReplacer(
		"{a: [1, 2, 4, 8], b: [1, 2, 3, 4]}", "{a: "+numbers(64)+", b: "+numbers(64)+"}",
		`constraints: ["a*b <= 16", "n < 1000 or a*b <= 8"]`, `constraints: []`,
	).Replace(toyOperator)
	p := problemFrom(b, "toy", wide, 64)
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
