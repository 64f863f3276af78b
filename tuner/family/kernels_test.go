package family

import (
	"errors"
	"strings"
	"testing"

	"autotune/device"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

// If the operator was edited after the family was tuned, Kernels returns an error.
func TestKernels(t *testing.T) {
	op, err := operator.Find("max_pool2d")
	must.OK(t, err)
	limits := operator.TypicalLimits()
	f := &Family{Operator: "max_pool2d", Shapes: "{1..8}x3x8x8", Dimensions: op.Shape, Free: []string{"n"}, Math: "fp32", Device: device.Info{Limits: limits}}
	shape := []int64{2, 3, 8, 8}
	p, err := op.Bind(f.Request(shape), limits)
	must.OK(t, err)
	c := p.Defaults(t.Context())[0]
	k, err := p.Kernel(c)
	must.OK(t, err)
	f.Reference, err = p.ReferenceDigest()
	must.OK(t, err)
	f.Parameters, f.Samples, f.Entries = p.Parameters, []Sample{{Shape: shape}}, []Entry{{Configuration: c, Shape: shape, Digest: k.Digest()}}
	all, err := f.Kernels(op)
	if err != nil || len(all) != 1 || all[0].Digest() != k.Digest() || len(all[0].Formulas.Launches) == 0 {
		t.Fatal(all, err)
	}
	if got, want := f.String(), "max_pool2d {1..8}x3x8x8 kernel=4x4 stride=1x1 padding=1x1 dilation=1x1 ceil_mode=false math=fp32"; got != want {
		t.Errorf("it is called %s, want %s", got, want)
	}
	for want, change := range map[string]func(f *Family){
		"the reference has changed":   func(f *Family) { f.Reference = "0" },
		"template direct has changed": func(f *Family) { f.Entries[0].Digest = "0" },
		"there is no template `none`": func(f *Family) { f.Entries[0].Template = "none" },
		"has the dimensions [n c]":    func(f *Family) { f.Dimensions = op.Shape[:2] },
	} {
		other := *f
		other.Entries = []Entry{f.Entries[0]}
		change(&other)
		if _, err := other.Kernels(op); !errors.Is(err, cudasource.ErrSearchAgain) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
