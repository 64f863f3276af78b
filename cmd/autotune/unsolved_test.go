package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"autotune/device"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/batch"
)

// For each problem without a kernel, the list must have a line with its status and the reason.
func TestUnsolved(t *testing.T) {
	op, err := operator.Find("avg_pool1d")
	must.OK(t, err)
	r := batch.Request{Operator: op, Request: operator.Request{Shape: []int64{1, 2, 30}}}
	name := problemText(r)
	var u unsolved
	for _, err := range []error{
		fmt.Errorf("%s: %w: all fail", name, tuner.ErrNoVariant),
		fmt.Errorf("%w: the tensors take 1 TiB", device.ErrMemory),
		batch.ErrNoTime,
		errors.New("the compiler\nis gone"),
	} {
		u.failed(r, err)
	}
	var out strings.Builder
	must.OK(t, reports.UnsolvedTable(&out, u.rows))
	for _, want := range []string{
		"  no variant    no valid variant: all fail\n",
		"  too large     not enough device memory: the tensors take 1 TiB\n",
		"  not searched  the budget was spent\n",
		"  failed        the compiler; is gone\n",
	} {
		if !strings.Contains(out.String(), name+want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for some, want := range map[bool]int{true: exitNoVariant, false: exitDevice} {
		if code := exitCode(&batch.NotAllError{Last: device.ErrMemory, Some: some}); code != want {
			t.Errorf("exit code %d, want %d", code, want)
		}
	}
}
