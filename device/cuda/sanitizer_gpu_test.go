//go:build cuda && gpu

package cuda

import (
	"strings"
	"testing"

	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/internal/test/testoperators"
)

// compute-sanitizer finds the faults in kernels whose results are right, with the source line, and finds nothing in a
// kernel without faults.
func TestGPUSanitize(t *testing.T) {
	_, err := FindSanitizer()
	testneeds.Sanitizer.Opened(t, err, ErrNoSanitizer)
	d, err := Open(t.Context(), 0, Options{Sanitize: true})
	must.OK(t, err)
	t.Cleanup(func() { d.Close() })
	const n = 1024 // whole blocks: a thread that left before a barrier would be reported
	benches := map[string]*bench{}
	for _, name := range []string{"affine", "mixed"} {
		benches[name] = benchOf(t, d, name, n, testoperators.Protocol())
	}
	for _, test := range []struct {
		operator string
		mode     int64
		status   trial.Status
		message  string
	}{
		{"affine", 0, trial.OK, ""},
		{"affine", 6, trial.OK, ""},
		{"affine", 8, trial.Crashed, "memcheck: Invalid __global__ read of size 4 bytes at direct.cu:"},
		{"affine", 9, trial.WrongResult, "racecheck: Race reported between "},
		{"affine", 10, trial.WrongResult, "initcheck: Uninitialized __global__ memory read of size 4 bytes at direct.cu:"},
		{"affine", 11, trial.Crashed, "synccheck: Barrier error detected."},
		{"affine", 2, trial.Crashed, "memcheck: Invalid __global__ write of size 4 bytes at direct.cu:"},
		{"mixed", 0, trial.OK, ""},
		{"mixed", 3, trial.Crashed, "memcheck: Invalid __global__ write of size 1 bytes at direct.cu:"},
		{"mixed", 5, trial.WrongResult, "initcheck: Uninitialized __global__ memory read of size 8 bytes at direct.cu:"},
	} {
		b := benches[test.operator]
		if o := b.evaluate(b.variant(test.mode), 0); o.Status != test.status || !strings.HasPrefix(o.Message, test.message) {
			t.Errorf("%s, mode %d: %s %q, want %s %q", test.operator, test.mode, o.Status, o.Message, test.status, test.message)
		}
	}
}
