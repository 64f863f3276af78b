package recording_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"autotune/device"
	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

// A recording consists of metadata and trials. A file whose name ends in .gz is compressed.
func Example() {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	fast := trial.Trial{
		Configuration: space.Configuration{Template: "direct", Values: space.Values{{Name: "threads", Value: expr.Int(128)}}},
		Outcome:       trial.Outcome{Status: trial.OK},
		At:            at,
	}
	fast.SetSamples([]float64{1.25, 1.5, 1.75}, 1)
	hanging := trial.Trial{
		Configuration: space.Configuration{Template: "direct", Values: space.Values{{Name: "threads", Value: expr.Int(256)}}},
		Outcome:       trial.Outcome{Status: trial.Timeout, Message: "it did not come back within 10 s"},
		At:            at.Add(10 * time.Second),
	}
	folder, err := os.MkdirTemp("", "recording")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)

	path := filepath.Join(folder, "add.json.gz")
	err = recording.Write(path, recording.Recording{
		Metadata: recording.Metadata{
			Problem:    operator.ProblemRecord{Operator: "add", Text: "add 1024", Shape: []int64{1024}, Math: "fp32"},
			Device:     device.Info{Name: "NVIDIA H100 80GB HBM3", Kind: device.CUDA},
			RecordedAt: at,
		},
		Trials: []trial.Trial{fast, hanging},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	read, err := recording.Load(context.Background(), path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(read.Metadata.Problem.Text, "-", read.Metadata.Origin())
	for _, t := range read.Trials {
		if t.Status == trial.OK {
			fmt.Printf("%s: %s %v\n", t.Configuration, t.Status, t.SamplesMS)
		} else {
			fmt.Printf("%s: %s, %s\n", t.Configuration, t.Status, t.Message)
		}
	}
	// Output:
	// add 1024 - recording of 2026-11-21 on NVIDIA H100 80GB HBM3
	// direct threads=128: ok [1.25 1.5 1.75]
	// direct threads=256: timeout, it did not come back within 10 s
}
