//go:build cuda && gpu

package cuda

import (
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testoperators"
)

// A kernel whose tensors fit into the L2 cache runs faster when the cache holds them. Under all conditions a kernel's
// result is right, and a launch that the driver refuses becomes a launch error.
func TestGPUConditions(t *testing.T) {
	const n = 1 << 20 // 8 MB
	medians := map[device.Conditions]float64{}
	b := openBench(t, n, testoperators.Protocol())
	for _, l2 := range device.L2Words {
		for _, launch := range device.LaunchWords {
			proto := testoperators.Protocol()
			proto.Conditions = device.ConditionsOf(l2, launch)
			b.session = b.open(proto)
			o := b.evaluate(b.variant(0), 0)
			if o.Status != trial.OK || o.Time.Samples != proto.Samples {
				t.Errorf("%s: %+v", proto.Conditions, o)
			}
			medians[proto.Conditions] = o.Time.Median
			t.Logf("%s: %.4f ms, %d launches a sample", proto.Conditions, o.Time.Median, max(o.Time.Batch, 1))
			must.OK(t, b.session.Close())
		}
	}
	for _, launch := range []device.LaunchForm{device.Direct, device.Graph} {
		cold, warm := medians[device.Conditions{Launch: launch}], medians[device.Conditions{L2: device.Warm, Launch: launch}]
		if warm > cold*1.05 {
			t.Errorf("launch %q: %.4f ms with a warm L2, %.4f ms with a cold one", launch, warm, cold)
		}
	}
}
