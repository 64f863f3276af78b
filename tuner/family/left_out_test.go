package family

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/devices"
)

// limited refuses shapes above a size, as a device without memory for them does, or fails at one.
type limited struct {
	opener
	most int64
	gone error
}

func (l limited) Open(ctx context.Context, op *operator.Operator, r operator.Request) (*devices.Opened, error) {
	switch {
	case r.Shape[0] <= l.most:
		return l.opener.Open(ctx, op, r)
	case l.gone != nil:
		return nil, l.gone
	}
	return nil, fmt.Errorf("%w: the tensors take more", device.ErrMemory)
}

// Shapes that the device refuses are left out of a family, as is a shape that cannot be
// timed, and no other is lost. A family of too few shapes says why.
func TestLeftOut(t *testing.T) {
	f, _ := tiles(t, nil)
	samples, heldOut := f.plan.Samples, f.plan.HeldOut
	within := func(shapes [][]int64, most int64) int {
		return len(lists.Where(shapes, func(s []int64) bool { return s[0] <= most }))
	}
	const most = 2000
	whole := f.opener
	f.opener, f.started = limited{opener: whole, most: most}, time.Now()
	if err := f.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(f.plan.Samples) != within(samples, most) || len(f.plan.HeldOut) != within(heldOut, most) {
		t.Errorf("%d samples, %d held out", len(f.plan.Samples), len(f.plan.HeldOut))
	}
	if want := len(samples) + len(heldOut) - within(samples, most) - within(heldOut, most); len(f.leftOut) != want || !strings.Contains(f.leftOut[0].Reason, "the tensors take more") {
		t.Errorf("left out %v, want %d", f.leftOut, want)
	}
	timed, err := f.timeAll(t.Context(), samples, nil)
	if err != nil || len(timed) != within(samples, most) {
		t.Errorf("%d samples are timed, %v", len(timed), err)
	}
	f.opener = limited{opener: whole, most: 1}
	if err := f.begin(t.Context()); !errors.Is(err, tuner.ErrNoVariant) || !strings.Contains(err.Error(), "the tensors take more") {
		t.Error(err)
	}
	f.opener = limited{opener: whole, most: 1, gone: device.ErrGone}
	if err := f.begin(t.Context()); !errors.Is(err, device.ErrGone) {
		t.Error(err)
	}
}
