package gputest

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"autotune/space/expr"
	"autotune/tuner/device"
	"autotune/tuner/device/replay"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// recordedWinner is the fastest configuration of a recorded search.
type recordedWinner struct {
	template string
	values   map[string]expr.Value
}

// recordedWinners finds the winners of all recordings, by operator.
func recordedWinners(recordings fs.FS) (map[string][]recordedWinner, error) {
	entries, err := replay.List(recordings)
	if err != nil {
		return nil, err
	}
	winners := map[string][]recordedWinner{}
	for _, e := range entries {
		r, err := replay.LoadFS(recordings, e.Name)
		if err != nil {
			return nil, err
		}
		best, least := -1, math.Inf(1)
		for i, result := range r.Results {
			samples := result.Evaluation().Samples
			if result.Extra.Status != trial.OK || result.Extra.Dropped || len(samples) == 0 {
				continue
			}
			slices.Sort(samples)
			if median := samples[len(samples)/2]; median < least {
				best, least = i, median
			}
		}
		if best < 0 {
			continue
		}
		w, err := winnerOf(r.Results[best])
		if err != nil {
			return nil, err
		}
		winners[e.Metadata.Operator] = append(winners[e.Metadata.Operator], w)
	}
	return winners, nil
}

func winnerOf(r replay.Result) (recordedWinner, error) {
	w := recordedWinner{template: r.Template(), values: map[string]expr.Value{}}
	for name, x := range r.Configuration {
		if name == "template" {
			continue
		}
		value, err := expr.FromGo(x)
		if err != nil {
			return w, err
		}
		w.values[name] = value
	}
	return w, nil
}

func TestRecordedWinners(t *testing.T) {
	folder := t.TempDir()
	r := replay.Recording{Metadata: replay.Metadata{
		Operator: "avg_pool1d", Problem: "avg_pool1d 1x1x8", Shape: []int64{1, 1, 8}, Math: "fp32",
		Device:   device.Info{Name: "NVIDIA H100", Kind: device.CUDA, Limits: operator.Limits{Arch: 90}},
		Protocol: device.DefaultProtocol(), RecordedAt: time.Unix(1, 0),
	}}
	for i, one := range []trial.Trial{
		{Status: trial.OK, SamplesMS: []float64{3, 2, 9}},
		{Status: trial.OK, SamplesMS: []float64{1, 2, 2.5}},
		{Status: trial.WrongResult},
		{Status: trial.OK, SamplesMS: []float64{0.5}, Dropped: true},
	} {
		one.Template, one.Configuration, one.At = "direct", map[string]any{"vec": int64(i)}, time.Unix(1, 0)
		one.Time = trial.Summarise(one.SamplesMS, 1)
		r.Results = append(r.Results, replay.NewResult(one))
	}
	if err := replay.Write(filepath.Join(folder, "recording.json.gz"), r); err != nil {
		t.Fatal(err)
	}
	winners, err := recordedWinners(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	got := winners["avg_pool1d"]
	if len(got) != 1 || got[0].template != "direct" || len(got[0].values) != 1 || got[0].values["vec"] != expr.Int(1) {
		t.Errorf("winners %v", winners)
	}
}
