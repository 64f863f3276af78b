package final

import (
	"math"
	"slices"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/space"
)

// Around measures configurations in turns with one of them, the centre, and returns the ratio of each
// configuration's time to the centre's time.
func TestAround(t *testing.T) {
	p := problem(t)
	b := &bench{takes: map[int64]float64{1: 6, 2: 5, 3: 4}}
	s := Subject{Problem: p, Device: b, Protocol: device.ProtocolFor(p.Operator), Launches: Launches}
	others := []space.Configuration{tried(1, 0, 1).Configuration, tried(3, 0, 1).Configuration}
	var said []int
	found, err := Around(t.Context(), s, tried(2, 0, 1).Configuration, others, time.Minute, func(done, of int) { said = append(said, done, of) })
	if err != nil || len(found.Others) != len(others) {
		t.Fatal(found, err)
	}
	if centre := found.Centre; centre.Status != trial.OK || centre.Time.Samples != policy.turns*3 {
		t.Errorf("the centre: %+v", centre.Outcome)
	}
	for i, want := range []float64{1.2, 0.8} {
		got := found.Others[i]
		if got.Key() != others[i].Key() || math.Abs(got.Ratio-want) > 1e-9 || math.Abs(got.CI95[0]-want) > 1e-9 || got.Time.Samples != policy.turns*3 {
			t.Errorf("%s: ratio %v, %v of %d samples; want %v", got.Configuration, got.Ratio, got.CI95, got.Time.Samples, want)
		}
	}
	if n := len(said); n != 2*policy.turns || !slices.Equal(said[n-2:], []int{2 * policy.turns, 2 * policy.turns}) {
		t.Errorf("said %v", said)
	}
	b.broken = "open"
	if _, err := Around(t.Context(), s, tried(2, 0, 1).Configuration, others, 0, nil); err == nil {
		t.Error("a device that fails is no error")
	}
}
