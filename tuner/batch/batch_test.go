package batch_test

import (
	"context"
	"errors"
	"testing"

	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/device"
	"autotune/tuner/devices"
	"autotune/tuner/operator"
)

// A problem that cannot be searched is told of, and the others are searched all the same.
func TestOneFails(t *testing.T) {
	op, err := operator.Find("avg_pool1d")
	if err != nil {
		t.Fatal(err)
	}
	var problems []batch.Request
	for _, length := range []int64{65536, 7, 65536} {
		problems = append(problems, batch.Request{Operator: op, Request: operator.Request{Shape: []int64{64, 128, length}}})
	}
	opener := devices.NewOpener(devices.Spec{Kind: device.Replay}, devices.Options{})
	defer opener.Close()
	var found, failed []string
	err = batch.Search(context.Background(), opener, problems, batch.Options{
		Search: tuner.Options{Budget: 5},
		Found: func(r batch.Request, _ *tuner.Result, b reports.BestConfig) error {
			found = append(found, r.String())
			return nil
		},
		Failed: func(r batch.Request, _ error) { failed = append(failed, r.String()) },
	})
	var notAll *batch.NotAllError
	if !errors.As(err, &notAll) || notAll.Last == nil {
		t.Errorf("the error is %v", err)
	}
	if len(found) != 2 || len(failed) != 1 || failed[0] != "avg_pool1d 64x128x7" {
		t.Errorf("found %v, failed %v", found, failed)
	}
}

// Names that could leave the folder, or that no file system takes, are refused.
func TestOpenRun(t *testing.T) {
	folder := t.TempDir()
	for name, right := range map[string]bool{"a": true, "2026-11.x_": true, "": false, "../a": false, ".a": false, "a/b": false} {
		if _, err := batch.OpenRun(folder, name); (err == nil) != right {
			t.Errorf("%q: %v", name, err)
		}
	}
}
