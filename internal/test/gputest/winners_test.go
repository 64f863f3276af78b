package gputest

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

// recordedWinners returns the fastest configurations in all recordings, by operator.
func recordedWinners(recordings fs.FS) (map[string][]space.Configuration, error) {
	entries, err := recording.List(recordings)
	if err != nil {
		return nil, err
	}
	winners := map[string][]space.Configuration{}
	for _, e := range entries {
		r, err := recording.LoadFS(recordings, e.Name)
		if err != nil {
			return nil, err
		}
		best, least := -1, math.Inf(1)
		for i, t := range r.Trials {
			if t.Status == trial.OK && !t.Dropped && t.Time.Median < least {
				best, least = i, t.Time.Median
			}
		}
		if best >= 0 {
			operator := e.Metadata.Problem.Operator
			winners[operator] = append(winners[operator], r.Trials[best].Configuration)
		}
	}
	return winners, nil
}

func TestRecordedWinners(t *testing.T) {
	folder := t.TempDir()
	r := recording.Recording{Metadata: recording.Metadata{
		Problem:  operator.ProblemRecord{Operator: "avg_pool1d", Text: "avg_pool1d 1x1x8", Shape: []int64{1, 1, 8}, Math: "fp32"},
		Device:   device.Info{Name: "NVIDIA H100", Kind: device.CUDA, Limits: operator.Limits{Arch: 90}},
		Protocol: device.DefaultProtocol(), RecordedAt: time.Unix(1, 0),
	}}
	for i, one := range []struct {
		outcome trial.Outcome
		samples []float64
	}{
		{trial.Outcome{Status: trial.OK}, []float64{3, 2, 9}},
		{trial.Outcome{Status: trial.OK}, []float64{1, 2, 2.5}},
		{trial.Outcome{Status: trial.WrongResult}, nil},
		{trial.Outcome{Status: trial.OK, Dropped: true}, []float64{0.5}},
	} {
		one.outcome.SetSamples(one.samples, 1)
		c := space.Configuration{Template: "direct", Values: space.Values{{Name: "vec", Value: expr.Int(int64(i))}}}
		r.Trials = append(r.Trials, trial.Trial{Configuration: c, Outcome: one.outcome, At: time.Unix(1, 0)})
	}
	must.OK(t, recording.Write(filepath.Join(folder, "recording.json.gz"), r))
	winners, err := recordedWinners(os.DirFS(folder))
	must.OK(t, err)
	got := winners["avg_pool1d"]
	if len(got) != 1 || got[0].String() != "direct vec=1" {
		t.Errorf("winners %v", winners)
	}
}
