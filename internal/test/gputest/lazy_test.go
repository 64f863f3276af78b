package gputest

import (
	"embed"
	"regexp"
	"slices"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/emulator"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/final"
)

//go:embed testdata/lazy
var lazyOperator embed.FS

// lazyKernels are kernels that skip work, each with the start of the message with which it must fail.
var lazyKernels = map[string]string{
	"looks":     "leaves out work whose results are there already",
	"keeps_all": "leaves out work whose results are there already",
	"keeps_two": "leaves out work whose results are there already|gate changed inputs: after a few of the inputs changed",
	"counts":    "after the timed launches",
	"finds":     "differ",
}

// lazyLoses searches testdata/lazy on a device: only the kernel that computes every output may pass.
func lazyLoses(t *testing.T, d device.Device, shape int64, parameters map[string]string) {
	o, err := operator.Load(lazyOperator, "testdata/lazy")
	must.OK(t, err)
	p, err := o.Bind(operator.Request{Shape: []int64{shape}, Parameters: parameters}, d.Info().Limits)
	must.OK(t, err)
	proto := device.ProtocolFor(o)
	proto.MeasureTime = time.Minute // on a busy machine a first launch takes long, and honest ones are samples too
	r, err := tuner.Search(t.Context(), p, d, tuner.Options{Gating: final.GateAll, Protocol: proto})
	must.OK(t, err)
	if r.Winner == nil || r.Winner.Template != "honest" {
		t.Errorf("the winner is %+v", r.Winner)
	}
	for template, message := range lazyKernels {
		i := slices.IndexFunc(r.Trials, func(t trial.Trial) bool { return t.Template == template })
		if i < 0 {
			t.Fatalf("%s was not tried", template)
		}
		o := r.Trials[i].Outcome
		t.Logf("%s: %s %s", template, o.Status, o.Message)
		if o.Status != trial.WrongResult || !regexp.MustCompile(message).MatchString(o.Message) {
			t.Errorf("%s ended as %s %q", template, o.Status, o.Message)
		}
	}
}

func TestLazyKernelsOnTheEmulator(t *testing.T) {
	testneeds.Nothing(t)
	d, err := emulator.Open(emulator.Options{CacheDir: testcache.Dir()})
	testneeds.CXX.Opened(t, err, emulator.ErrNoCompiler)
	defer d.Close()
	lazyLoses(t, d, 16384, nil)
}
