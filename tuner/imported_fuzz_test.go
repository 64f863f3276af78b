package tuner_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"autotune/device/emulator"
	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/winners"
)

// exported is a recording as `cache export` writes it.
func exported(f *testing.F) []byte {
	op, err := operator.Find("max_pool2d")
	toy.Must(f, err)
	d := &fakeDevice{Evaluate: func(space.Configuration) (trial.Outcome, error) { return took(1), nil }}
	p, err := op.Bind(operator.Request{Shape: []int64{1, 1, 8, 8}}, emulator.Limits())
	toy.Must(f, err)
	result, err := tuner.Search(f.Context(), p, d, tuner.Options{Budget: 3})
	toy.Must(f, err)
	reference, err := p.ReferenceDigest()
	toy.Must(f, err)
	r := result.Recording("test")
	r.Metadata.ReferenceDigest, r.Metadata.Arch = reference, d.Arch()
	r.Metadata.Device.Limits = emulator.Limits()
	path := filepath.Join(f.TempDir(), "r.json")
	if err := recording.Write(path, r); err != nil {
		f.Fatal(err)
	}
	if _, entries, err := winners.Imported(f.Context(), &r, op); err != nil || len(entries) != 3 {
		f.Fatalf("imported %d of 3 trials, %v", len(entries), err)
	}
	raw, err := os.ReadFile(path)
	toy.Must(f, err)
	return raw
}

// Whatever a recording says, trials imported from it have the kernels of today, or
// it is refused.
func FuzzImported(f *testing.F) {
	f.Add(exported(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := recording.ReadAny(bytes.NewReader(data))
		if err != nil {
			return
		}
		op, err := operator.Find(r.Metadata.Problem.Operator)
		if err != nil {
			return
		}
		_, entries, err := winners.Imported(t.Context(), r, op)
		if len(entries) > len(r.Trials) || err != nil && len(entries) > 0 {
			t.Errorf("%d entries of %d trials, %v", len(entries), len(r.Trials), err)
		}
		for _, e := range entries {
			if len(e.Provenance.Key()) != 64 || e.Trial.KernelDigest == "" {
				t.Errorf("imported %+v", e)
			}
		}
	})
}
