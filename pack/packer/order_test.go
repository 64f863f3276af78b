package packer

import (
	"slices"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/pack"
	"autotune/tuner/cudasource"
)

// A problem whose tensors have the second dimension last in memory has a kernel of its own.
func TestOrders(t *testing.T) {
	shape := []int64{2, 8, 9, 10}
	set := func(layout string) map[string]string {
		return map[string]string{"kernel": "3", "stride": "1", "type": "bf16", "layout": layout}
	}
	all := packed(t, "layers", []cudasource.Winner{winner(t, operator.Request{Shape: shape, Parameters: set("nhwc")}, "avg_pool2d")})
	p, err := pack.Open(all)
	must.OK(t, err)
	for layout, tuned := range map[string]bool{"nhwc": true, "nchw": false} {
		plan, err := p.On(h100()).Plan("avg_pool2d", shape, set(layout), "")
		if (err == nil) != tuned || tuned && !slices.ContainsFunc(plan.Tensors, func(t pack.Tensor) bool { return t.Last }) {
			t.Errorf("%s: %+v, %v", layout, plan, err)
		}
	}
}
