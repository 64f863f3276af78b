package tuner

import (
	"fmt"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/space"
	"autotune/tuner/strategy"
)

// recordedOrder is the name of the strategy of a replay that tries configurations in the order of the recording.
const recordedOrder = "as recorded"

type recorded struct{ left []int64 }

// foreign warns about recorded configurations that cannot be replayed, since the problem's whole space lacks them.
func foreign(d device.Device, whole *space.Space) []string {
	r, ok := d.(device.Recorded)
	if !ok {
		return nil
	}
	list := r.Configurations()
	gone := lists.Where(list, func(c space.Configuration) bool { _, known := whole.Index(c); return !known })
	if len(gone) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the problem's space of today lacks %d of the %d recorded configurations: they cannot be replayed; record the search again", len(gone), len(list))}
}

func (r *recorded) Ask() (id int64, ok bool) {
	if ok = len(r.left) > 0; ok {
		id, r.left = r.left[0], r.left[1:]
	}
	return id, ok
}

func (r *recorded) Tell(int64, strategy.Outcome) {}
