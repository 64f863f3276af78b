//go:build cuda && gpu

package cuda

import (
	"errors"
	"strings"
	"testing"

	"autotune/tuner/trial"
)

// What compute-sanitizer is there for is found, with its line, in kernels whose
// results are right; and nothing is found in one that is right.
func TestGPUSanitize(t *testing.T) {
	if _, err := FindSanitizer(); errors.Is(err, ErrNoSanitizer) {
		t.Skip(err)
	}
	d, err := Open(t.Context(), 0, Options{Sanitize: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	const n = 1024 // whole blocks: a thread that left before a barrier would be reported
	b := &bench{t: t, device: d, problem: affine(t, n, d.Info().Limits)}
	b.session = b.open(testProtocol())
	for _, test := range []struct {
		mode    int64
		status  trial.Status
		message string
	}{
		{0, trial.OK, ""},
		{6, trial.OK, ""},
		{8, trial.Crashed, "memcheck: Invalid __global__ read of size 4 bytes at direct.cu:"},
		{9, trial.WrongResult, "racecheck: Race reported between "},
		{10, trial.WrongResult, "initcheck: Uninitialized __global__ memory read of size 4 bytes at direct.cu:"},
		{11, trial.Crashed, "synccheck: Barrier error detected."},
		{2, trial.Crashed, "memcheck: Invalid __global__ write of size 4 bytes at direct.cu:"},
	} {
		if o := b.evaluate(b.variant(test.mode), 0); o.Status != test.status || !strings.HasPrefix(o.Message, test.message) {
			t.Errorf("mode %d: %s %q, want %s %q", test.mode, o.Status, o.Message, test.status, test.message)
		}
	}
}
