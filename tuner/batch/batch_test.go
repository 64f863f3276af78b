package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"autotune/device"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/torchmath"
)

// If one problem cannot be searched, its error is reported, and the other problems are searched all the same.
func TestOneFails(t *testing.T) {
	op, err := operator.Find("avg_pool1d")
	must.OK(t, err)
	var problems []batch.Request
	for _, length := range []int64{65536, 7, 65536} {
		problems = append(problems, batch.Request{Operator: op, Request: operator.Request{Shape: []int64{64, 128, length}}})
	}
	opener := devices.NewOpener(devices.Spec{Kind: device.Replay}, devices.Options{})
	defer opener.Close()
	var found, failed []string
	err = batch.Search(context.Background(), opener, problems, batch.Options{
		Search: tuner.Options{Budget: 5},
		Found: func(r batch.Request, _ *tuner.Result, b bestconfig.Document) error {
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

// A search that began in another math mode than PyTorch uses is started again in PyTorch's mode.
func TestOtherMode(t *testing.T) {
	op, err := operator.Find("avg_pool1d")
	must.OK(t, err)
	opener := devices.NewOpener(devices.Spec{Kind: device.Replay}, devices.Options{})
	defer opener.Close()
	var notices []string
	var modes []string
	err = batch.Search(t.Context(), opener, []batch.Request{{Operator: op, Request: operator.Request{Shape: op.Example}}}, batch.Options{
		With: func(_ context.Context, r batch.Request, on *devices.Opened, _ tuner.Options, _ bool) (*tuner.Result, error) {
			if modes = append(modes, r.Math+" "+on.Problem.MathBy); len(modes) == 1 {
				return nil, fmt.Errorf("search: %w", &devices.OtherMode{Mode: torchmath.Mode{Name: "fp32", By: "as PyTorch does"}})
			}
			return nil, nil
		},
		Notice: func(text string) { notices = append(notices, text) },
	})
	if want := []string{" ", "fp32 as PyTorch does"}; err != nil || !slices.Equal(modes, want) {
		t.Errorf("%q, %v; want %q", modes, err, want)
	}
	if want := "avg_pool1d 64x128x65536: the math mode is fp32, as PyTorch does; the search begins again"; len(notices) != 1 || notices[0] != want {
		t.Errorf("notices %q; want %q", notices, want)
	}
}
