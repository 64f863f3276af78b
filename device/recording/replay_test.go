package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"autotune/internal/test/must"

	"pgregory.net/rapid"

	"autotune/device"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

func opened(t *testing.T, r Recording, name string) (device.Device, device.Session) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.OK(t, Write(path, r))
	loaded, err := Load(t.Context(), path)
	must.OK(t, err)
	d := Replay(loaded)
	s, err := d.Open(t.Context(), problem(), nil, device.DefaultProtocol())
	must.OK(t, err)
	return d, s
}

func variantOf(c space.Configuration, source string) device.Variant {
	return device.Variant{Configuration: c, Kernel: operator.Kernel{Operator: "max_pool2d", Template: c.Template, Source: source}}
}

// ofSource returns the trials of oneOfEach, with each kernel's digest replaced by that of a kernel with the given
// source.
func ofSource(source string) []trial.Trial {
	all := oneOfEach()
	for i, x := range all {
		all[i].KernelDigest = variantOf(x.Configuration, source).Kernel.Digest()
	}
	return all
}

func TestReplayAnswersAsRecorded(t *testing.T) {
	for _, name := range []string{"r.json", "r.json.gz"} {
		_, s := opened(t, recorded(ofSource("v1")), name)
		for _, x := range ofSource("v1") {
			got, err := s.Evaluate(t.Context(), variantOf(x.Configuration, "v1"), 0)
			must.OK(t, err)
			if want := x.Outcome; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s:\n got %+v\nwant %+v", name, x.Configuration.Key(), got, want)
			}
		}
	}
}

func TestSamplesSurviveInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		samples := rapid.SliceOfN(rapid.Float64Range(1e-4, 1e5), 1, 40).Draw(rt, "samples")
		for i := range samples {
			samples[i] = round(samples[i])
		}
		x := oneOfEach()[0]
		x.SetSamples(samples, 1)
		back, err := decode(bytes.NewReader(encoded(t, recorded([]trial.Trial{x}), true)))
		if err != nil {
			rt.Fatal(err)
		}
		if got := back.Trials[0].SamplesMS; !reflect.DeepEqual(got, samples) {
			rt.Fatalf("got %v, want %v", got, samples)
		}
	})
}

func TestNotInTheRecordingIsPruned(t *testing.T) {
	_, s := opened(t, recorded(ofSource("v1")), "r.json.gz")
	for _, c := range []space.Configuration{
		configuration("direct", 1024, expr.Int(1)), configuration("none", 32, expr.Int(1)), configuration("direct", 32, expr.String("1")), configuration("rows", 32, expr.Bool(true)),
	} {
		got, err := s.Evaluate(t.Context(), variantOf(c, "v1"), 0)
		if err != nil || got.Status != trial.Pruned || got.Message != NotRecorded || got.SamplesMS != nil {
			t.Errorf("%s: got %+v, %v", c.Key(), got, err)
		}
	}
}

func TestEditedKernelIsToldOnce(t *testing.T) {
	_, s := opened(t, recorded(ofSource("v1")), "r.json.gz")
	warnings := map[string][]string{}
	for _, e := range ofSource("v1") {
		got, err := s.Evaluate(t.Context(), variantOf(e.Configuration, "v2"), 0)
		must.OK(t, err)
		if got.Status != e.Outcome.Status || !reflect.DeepEqual(got.SamplesMS, e.Outcome.SamplesMS) {
			t.Errorf("%s: the recorded data changed: %+v", e.Configuration.Key(), got)
		}
		if got.Notice != "" {
			template := e.Configuration.Template
			warnings[template] = append(warnings[template], got.Notice)
		}
	}
	for _, template := range []string{"direct", "rows"} {
		want := fmt.Sprintf("the kernel %s was edited since the recording of 2025-11-21 on NVIDIA H100 80GB HBM3: its times are of the older source", template)
		if !reflect.DeepEqual(warnings[template], []string{want}) {
			t.Errorf("warnings of %s: %q", template, warnings[template])
		}
	}
}

func TestDeviceNeverPretends(t *testing.T) {
	d, s := opened(t, recorded(ofSource("v1")), "r.json.gz")
	info := d.Info()
	if info.Kind != device.Replay || info.Name != "NVIDIA H100 80GB HBM3" || !info.RecordedAt.Equal(recordedAt) || filepath.Base(info.Recording) != "r.json.gz" {
		t.Errorf("Info() = %+v", info)
	}
	if info.Limits.SMs != 132 || d.Arch() != "sm_90" || d.Compiler() != nil {
		t.Errorf("limits %+v, arch %s, compiler %v", info.Limits, d.Arch(), d.Compiler())
	}
	want := recorded(nil).Metadata.Ceilings
	if got := s.Ceilings(); !reflect.DeepEqual(got, want) {
		t.Errorf("Ceilings() = %+v, want %+v", got, want)
	}
	other := problem()
	other.Shape = []int64{9, 9, 9, 9}
	if _, err := d.Open(t.Context(), other, nil, device.Protocol{}); !errors.Is(err, ErrProblem) || !strings.Contains(err.Error(), other.String()) {
		t.Errorf("another problem: %v", err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Evaluate(stopped, variantOf(oneOfEach()[0].Configuration, "v1"), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	must.OK(t, errors.Join(s.Close(), d.Close()))
}

// A recording of two thousand trials must be small enough to be shipped.
func TestSize(t *testing.T) {
	list := make([]trial.Trial, 2000)
	for i := range list {
		samples := make([]float64, 30)
		for j := range samples {
			samples[j] = 1.2 + float64(i%97)/31 + float64((i*31+j*j*17)%1009)*1.3e-5
		}
		v := variantOf(configuration("direct", int64(i), expr.Int(4)), "v1")
		list[i] = trial.New(v.Configuration, v.Kernel).With(trial.Outcome{
			Status: trial.OK, Phases: trial.Phases{CompileMS: 80 + float64(i*7919%1000)/9, VerifyMS: 3, MeasureMS: 40}, ClockMHz: 1980,
			Measured: trial.Measured{Resources: trial.Resources{Registers: 32 + i%64, Occupancy: 0.5}},
		})
		list[i].SetSamples(samples, 1)
		list[i].At = recordedAt.Add(time.Duration(i) * time.Second)
	}
	path := filepath.Join(t.TempDir(), "r.json.gz")
	must.OK(t, Write(path, recorded(list)))
	info, err := os.Stat(path)
	must.OK(t, err)
	if t.Logf("%d bytes", info.Size()); info.Size() > 300_000 {
		t.Errorf("2000 trials of 30 samples take %d bytes", info.Size())
	}
}
