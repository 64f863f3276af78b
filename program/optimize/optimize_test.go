package optimize

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/pack/capture"
	"autotune/program"
	"autotune/tuner/cudasource"
)

// pool returns a node that pools an image with windows of two by two.
func pool(name, of, shape, size string) string {
	return strings.NewReplacer("NAME", name, "OF", of, "SHAPE", shape, "SIZE", size).Replace(
		`{"name": "NAME", "function": "aten.max_pool2d.default", "arguments": [{"value": "OF"}, [2, 2], [2, 2]],
		"results": [{"name": "NAME", "type": "float32", "shape": [4, 8, SIZE, SIZE], "strides": [1, 1, 1, 1]}],
		"problem": {"operator": "max_pool2d", "shape": [SHAPE], "parameters": {"kernel": "2", "stride": "2"},
		"inputs": [{"argument": "x", "value": "OF", "shape": [SHAPE]}]}}`)
}

// planned returns the plan of three pools in a row, which are a region each.
func planned(t *testing.T) *program.Plan {
	t.Helper()
	nodes := []string{pool("a", "x", "4, 8, 16, 16", "8"), pool("b", "a", "4, 8, 8, 8", "4"), pool("c", "b", "4, 8, 4, 4", "2")}
	g, err := program.Read(strings.NewReader(`{"schema": "autotune/graph/1", "torch": "2.11", "outputs": ["c"], "state": [],
		"inputs": [{"name": "x", "type": "float32", "shape": [4, 8, 16, 16], "strides": [2048, 256, 16, 1]}],
		"nodes": [` + strings.Join(nodes, ",") + "]}"))
	must.OK(t, err)
	p, err := program.NewPlan(g, operator.Find)
	must.OK(t, err)
	if n := len(p.Regions()); n != 3 {
		t.Fatalf("the plan has %d regions", n)
	}
	return p
}

// What is kept depends on how fast the program is with each set of regions.
func TestChoose(t *testing.T) {
	testneeds.Nothing(t)
	for name, test := range map[string]struct {
		faster map[string]float64 // by the numbers of the regions that have kernels; the others slow the program down
		want   string             // these numbers; "": nothing pays
	}{
		"all pay together":             {map[string]float64{"123": 1.5}, "123"},
		"two pay":                      {map[string]float64{"1": 1.1, "3": 1.2, "13": 1.3}, "13"},
		"two pay, though not together": {map[string]float64{"1": 1.1, "3": 1.2}, "3"},
		"one pays":                     {map[string]float64{"2": 1.1}, "2"},
		"nothing pays":                 {nil, ""},
		"only pairs would":             {map[string]float64{"12": 2}, ""},
	} {
		w := cudasource.Winner{}
		w.Best.Device.Kind = device.CUDA
		r := &run{Result: Result{Plan: planned(t), Left: map[string]string{}}}
		r.Winners = map[string]cudasource.Winner{"region_1": w, "region_2": w, "region_3": w}
		r.time = func(_ context.Context, r *run, plans ...*program.Plan) error {
			r.Times = &capture.ProgramTimes{After: lists.Of(plans, func(p *program.Plan) capture.Replacement {
				faster := max(test.faster[numbers(p)], 0.9)
				return capture.Replacement{Faster: faster, Interval: [2]float64{faster - 0.01, faster + 0.01}}
			})}
			r.After = r.Times.After[0]
			return nil
		}
		err := r.choose(t.Context())
		if got := numbers(r.Plan); err != nil && !errors.Is(err, ErrNothing) || (err == nil) != (test.want != "") || err == nil && got != test.want {
			t.Errorf("%s: kept %s, %v; want %q", name, got, err, test.want)
		}
	}
}

// numbers returns the numbers of a plan's regions.
func numbers(p *program.Plan) string {
	all := lists.Of(p.Regions(), func(r *program.Region) string { return strings.TrimPrefix(r.Name, "region_") })
	slices.Sort(all)
	return strings.Join(all, "")
}
