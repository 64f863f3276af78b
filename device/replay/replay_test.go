package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autotune/device"
	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/space"
	"autotune/space/expr"
)

// opened writes a recording, loads it again and opens it for its problem.
func opened(t *testing.T, r recording.Recording, name string) (device.Device, device.Session) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := recording.Write(path, r); err != nil {
		t.Fatal(err)
	}
	loaded, err := recording.Load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	d := Open(loaded)
	s, err := d.Open(t.Context(), problem(), nil, device.DefaultProtocol())
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

func TestReplayAnswersAsRecorded(t *testing.T) {
	for _, name := range []string{"r.json", "r.json.gz"} {
		_, s := opened(t, recorded(oneOfEach()), name)
		for _, e := range oneOfEach() {
			got, err := s.Evaluate(t.Context(), e.variant, 0)
			if err != nil {
				t.Fatal(err)
			}
			if want := e.outcome; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s:\n got %+v\nwant %+v", name, e.variant.Configuration.Key(), got, want)
			}
		}
	}
}

func TestSamplesSurviveInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Float64Range(1e-4, 1e5), 1, 40).Draw(t, "samples")
		for i := range samples {
			samples[i] = sixDigits(samples[i])
		}
		e := evaluated{variant(configuration("direct", 32, expr.Int(1)), "v1"), sampled(trial.Outcome{Status: trial.OK}, samples, 1)}
		dir, err := os.MkdirTemp("", "replay")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "r.json.gz")
		if err := recording.Write(path, recorded([]evaluated{e})); err != nil {
			t.Fatal(err)
		}
		loaded, err := recording.Load(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if got := loaded.Trials[0].SamplesMS; !reflect.DeepEqual(got, samples) {
			t.Fatalf("got %v, want %v", got, samples)
		}
	})
}

func TestNotInTheRecordingIsPruned(t *testing.T) {
	_, s := opened(t, recorded(oneOfEach()), "r.json.gz")
	for _, c := range []space.Configuration{
		configuration("direct", 1024, expr.Int(1)), configuration("none", 32, expr.Int(1)), configuration("direct", 32, expr.String("1")), configuration("rows", 32, expr.Bool(true)),
	} {
		got, err := s.Evaluate(t.Context(), variant(c, "v1"), 0)
		if err != nil || got.Status != trial.Pruned || got.Message != NotRecorded || got.SamplesMS != nil {
			t.Errorf("%s: got %+v, %v", c.Key(), got, err)
		}
	}
}

func TestEditedKernelIsToldOnce(t *testing.T) {
	_, s := opened(t, recorded(oneOfEach()), "r.json.gz")
	warnings := map[string][]string{}
	for _, e := range oneOfEach() {
		got, err := s.Evaluate(t.Context(), variant(e.variant.Configuration, "v2"), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != e.outcome.Status || !reflect.DeepEqual(got.SamplesMS, e.outcome.SamplesMS) {
			t.Errorf("%s: the recorded data changed: %+v", e.variant.Configuration.Key(), got)
		}
		if got.Notice != "" {
			template := e.variant.Configuration.Template
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
	d, s := opened(t, recorded(oneOfEach()), "r.json.gz")
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
	if _, err := s.Evaluate(stopped, oneOfEach()[0].variant, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := errors.Join(s.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}

// A search of two thousand trials must fit among the shipped recordings.
func TestSize(t *testing.T) {
	list := make([]evaluated, 2000)
	for i := range list {
		samples := make([]float64, 30)
		for j := range samples {
			samples[j] = 1.2 + float64(i%97)/31 + float64((i*31+j*j*17)%1009)*1.3e-5
		}
		list[i] = evaluated{variant(configuration("direct", int64(i), expr.Int(4)), "v1"), sampled(trial.Outcome{
			Status: trial.OK, Phases: trial.Phases{CompileMS: 80 + float64(i*7919%1000)/9, VerifyMS: 3, MeasureMS: 40}, ClockMHz: 1980,
			Measured: trial.Measured{Resources: trial.Resources{Registers: 32 + i%64, Occupancy: 0.5}},
		}, samples, 1)}
	}
	path := filepath.Join(t.TempDir(), "r.json.gz")
	if err := recording.Write(path, recorded(list)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d bytes", info.Size()); info.Size() > 300_000 {
		t.Errorf("2000 trials of 30 samples take %d bytes", info.Size())
	}
}
