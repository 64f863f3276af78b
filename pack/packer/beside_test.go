package packer

import (
	"os"
	"slices"
	"testing"

	"autotune/device/emulator"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/tuner"
)

// judged are operators whose general kernels differ in their form: in tensors' types, and in those
// that are read and written, in scalars and in several outputs.
var judged = []string{"matmul", "conv2d", "max_pool2d", "cross_entropy", "masked_cumsum", "batch_norm", "scaled"}

// Every operator with a general kernel can have it as its first template, which is right.
func TestWithGeneral(t *testing.T) {
	all, err := operator.Operators()
	must.OK(t, err)
	for _, name := range []string{"scaled"} {
		op, err := operator.Load(os.DirFS("testdata"), name)
		must.OK(t, err)
		all = append(all, op)
	}
	for _, op := range all {
		if op.PyTorch == nil {
			continue
		}
		t.Run(op.Name, func(t *testing.T) {
			t.Parallel()
			r := operator.Request{Shape: []int64{1, 2, 24, 24, 24}[:len(op.Shape)]}
			if op.Name == "batch_norm" {
				r.Parameters = map[string]string{"training": "true"}
			}
			p, err := op.Bind(r, emulator.Limits())
			must.OK(t, err)
			with, why, err := WithGeneral(p)
			if err != nil || why != "" {
				t.Fatal(why, err)
			}
			if p, err = with.Bind(r, emulator.Limits()); err != nil {
				t.Fatal(err)
			}
			if first := p.Defaults(t.Context())[0].Template; first != GeneralTemplate {
				t.Errorf("the first default is %s's", first)
			}
			if !slices.Contains(judged, op.Name) || testing.Short() {
				return
			}
			testneeds.CXX.Need(t)
			d, err := emulator.Open(emulator.Options{CacheDir: testcache.Dir()})
			must.OK(t, err)
			defer d.Close()
			result, err := tuner.Search(t.Context(), p, d, tuner.Options{Recheck: true, Only: operator.Restriction{Templates: []string{GeneralTemplate}}})
			if err != nil || result.Winner == nil || result.Winner.Status != trial.OK || result.Winner.Template != GeneralTemplate {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}
