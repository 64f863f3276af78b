//go:build cuda && gpu

package cuda

import (
	"strings"
	"testing"

	"autotune/tuner/device/testoperators"
)

// ncu sees the kernel of the process that it starts, where it is there and may read counters.
func TestGPUCounters(t *testing.T) {
	d, err := Open(t.Context(), 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	const metric = "sm__warps_active.avg.pct_of_peak_sustained_active"
	b := benchOf(t, d, "affine", 1<<20, testoperators.Protocol())
	found, err := Counters(t.Context(), d, b.problem, testoperators.Protocol(), b.variant(0), []string{metric})
	if err != nil && (strings.Contains(err.Error(), "neither on the PATH") || strings.Contains(err.Error(), "ERR_NVGPUCTRPERM")) {
		t.Skip(err)
	}
	if share := found[metric]; err != nil || share <= 0 || share > 100 {
		t.Errorf("%v, %v", found, err)
	}
}
