package tuner_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"autotune/internal/test/toy"
	"autotune/tuner"
	"autotune/tuner/store"
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

// BenchmarkEditedKernels is a search whose cache holds many trials of kernels that were edited since.
func BenchmarkEditedKernels(b *testing.B) {
	p := toy.Problem(b, wideToy(64), 64)
	s, err := store.Open(b.Context(), filepath.Join(b.TempDir(), "cache.db"), store.Options{})
	toy.Must(b, err)
	defer s.Close()
	search := func() {
		if _, err := tuner.Search(b.Context(), p, &fakeDevice{Evaluate: bowl}, tuner.Options{Strategy: "random", Budget: 200, Store: s}); err != nil {
			b.Fatal(err)
		}
	}
	search()
	known, err := s.Problems()
	toy.Must(b, err)
	entries, err := s.Entries(known[0].ProblemID)
	toy.Must(b, err)
	for edit := range 100 {
		for i := range entries {
			digest := fmt.Sprintf("%064x", edit*len(entries)+i)
			entries[i].Trial.KernelDigest, entries[i].Provenance.KernelDigest = digest, digest
		}
		toy.Must(b, s.PutTrials(known[0].ProblemID, entries))
	}
	for b.Loop() {
		search()
	}
}
