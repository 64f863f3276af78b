package gpu

import (
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/test/must"
)

// lazy is a variant that leaves out work.
func (b *bench) lazy(mode string) device.Variant {
	v := b.variant(0)
	v.Binary = &compile.Binary{Code: []byte(mode)}
	return v
}

// A kernel that would lead because it leaves out work is found out under all conditions. One that would not lead is not looked
// into, but for launches that write nothing.
func TestLazyKernels(t *testing.T) {
	for name, change := range map[string]func(*device.Protocol){
		"one by one": func(*device.Protocol) {},
		"batches":    func(p *device.Protocol) { p.BatchBelow = 2 * time.Millisecond },
		"graph":      func(p *device.Protocol) { p.Conditions.Launch = device.Graph },
		"warm":       func(p *device.Protocol) { p.Conditions.L2 = device.Warm },
	} {
		t.Run(name, func(t *testing.T) {
			proto := fakeProtocol()
			change(&proto)
			b := openAffine(t, proto)
			const leavesOut = "the kernel leaves out work whose results are there already"
			for mode, want := range map[string]string{
				"counts":    "after the timed launches 1000 of 1000 elements of y differ from the reference, 1000 were never written",
				"looks":     leavesOut,
				"keeps_all": leavesOut,
				"keeps_two": leavesOut,
			} {
				o, err := b.session.Evaluate(t.Context(), b.lazy(mode), 0)
				if err != nil || o.Status != trial.WrongResult || !strings.Contains(o.Message, want) {
					t.Errorf("%s: %s %q, %v", mode, o.Status, o.Message, err)
				}
				if o, err = b.session.Evaluate(t.Context(), b.lazy(mode), 1e-3); mode != "counts" && (err != nil || o.Status != trial.OK) {
					t.Errorf("%s behind another: %s %q, %v", mode, o.Status, o.Message, err)
				}
				if o, err = b.session.Evaluate(t.Context(), b.variant(0), 0); err != nil || o.Status != trial.OK || o.Time.Median != 1 {
					t.Errorf("after %s: %+v, %v", mode, o, err)
				}
			}
			b.closed()
		})
	}
}

// A kernel that takes what it made for other inputs is wrong where only few of them changed.
func TestChangedInputs(t *testing.T) {
	b := openAffine(t, fakeProtocol())
	for mode, want := range map[string]trial.Status{"0": trial.OK, "keeps_all": trial.OK, "keeps_two": trial.WrongResult} {
		o, _, err := b.session.Check(t.Context(), b.lazy(mode), device.Check{Changes: true})
		if err != nil || o.Status != want || want != trial.OK && !strings.HasPrefix(o.Message, "after a few of the inputs changed: ") {
			t.Errorf("%s: %s %q, %v", mode, o.Status, o.Message, err)
		}
		if o, _, err = b.session.Check(t.Context(), b.variant(0), device.Check{}); err != nil || o.Status != trial.OK {
			t.Errorf("after %s: %s %q, %v", mode, o.Status, o.Message, err)
		}
	}
	b.closed()
}

// Where inputs are large, an output may be as inexact as the largest one is.
func TestLargeInputs(t *testing.T) {
	b := openAffine(t, fakeProtocol())
	must.OK(t, b.session.Refill(t.Context(), device.Inputs{Distribution: "large", Seed: 1}))
	checks := &b.session.(*session).checks
	if y := checks.sizes[len(checks.sizes)-1]; y <= 1 || y > 3 {
		t.Errorf("the largest output is %v", y)
	}
	if err := b.session.Refill(t.Context(), device.Inputs{Distribution: "tiny", Seed: 1}); err != nil || checks.sizes[len(checks.sizes)-1] != 0 {
		t.Errorf("%v, %v", checks.sizes, err)
	}
	b.closed()
}
