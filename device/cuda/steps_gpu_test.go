//go:build cuda && gpu

package cuda

import (
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/testoperators"
)

// Kernels with several launches, clusters, cooperative groups and constant memory give right results at every launch
// and under all conditions, and the device notices faults in them.
func TestGPUSteps(t *testing.T) {
	for _, conditions := range []device.Conditions{{}, {Launch: device.Graph}, {L2: device.Warm}} {
		proto := testoperators.Protocol()
		proto.Conditions = conditions
		b := benchOf(t, openGPU(t), "steps", 5000, proto)
		for _, tt := range []struct {
			name    string
			mode    int64
			status  trial.Status
			message string
		}{
			{"three launches", 0, trial.OK, ""},
			{"a cooperative one", 1, trial.OK, ""},
			{"clusters", 2, trial.OK, ""},
			{"nothing clears", 3, trial.WrongResult, "y differs from the reference in 5000 of 5000 elements"},
			{"too many blocks", 4, trial.Pruned, "together: a cooperative launch of 100000 blocks: at most "},
			{"a small table", 5, trial.LaunchError, "the __constant__ variable table has 32 bytes, table takes 64"},
			{"no table", 6, trial.LaunchError, "the kernel has no __constant__ variable table for table"},
			{"the last launch is wrong", 7, trial.WrongResult, "y differs from the reference in 5000 of 5000 elements"},
		} {
			e := b.evaluate(b.variant(tt.mode), 0)
			if e.Status != tt.status || !strings.Contains(e.Message, tt.message) {
				t.Errorf("%v, %s: %s %q, want %s %q", conditions, tt.name, e.Status, e.Message, tt.status, tt.message)
			}
		}
		for mode := range int64(3) {
			o, launches, err := b.session.Check(t.Context(), b.variant(mode), device.Check{Launches: 7, Exact: true})
			if err != nil || o.Status != trial.OK || launches != 7 {
				t.Errorf("%v, mode %d: %s %s after %d launches, %v", conditions, mode, o.Status, o.Message, launches, err)
			}
		}
	}
}
