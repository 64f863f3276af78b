package winners

import (
	"testing"
	"time"

	"autotune/device/trial"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/store"
)

// An era ends where a driver or compiler changes. Its winner is the fastest of its finals, if it had any.
func TestEras(t *testing.T) {
	began := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	entry := func(driver string, hour int, status trial.Status, ms float64, rounds int) store.Entry {
		e := store.Entry{Provenance: store.Provenance{Driver: driver, Compiler: "c", KernelDigest: time.Duration(hour).String()}}
		e.Trial.Configuration = space.Configuration{Template: "k", Values: space.Values{{Name: "a", Value: expr.Int(int64(hour))}}}
		e.Trial.Status, e.Trial.Time, e.Trial.FinalRounds, e.Trial.At = status, trial.Timing{Median: ms}, rounds, began.Add(time.Duration(hour)*time.Hour)
		return e
	}
	var w Kept
	w.Device.Name = "a GPU"
	eras := w.eras([]store.Entry{
		entry("1", 3, trial.OK, 4, 0), entry("1", 1, trial.OK, 5, 3), entry("1", 2, trial.OK, 6, 3), entry("1", 0, trial.Crashed, 0, 0),
		entry("2", 9, trial.OK, 3, 0), entry("2", 8, trial.OK, 2, 0),
		entry("3", 9, trial.WrongResult, 0, 0),
	})
	if len(eras) != 2 {
		t.Fatalf("%d eras", len(eras))
	}
	for _, e := range eras {
		want := map[string]struct {
			ms     float64
			trials int
			end    int
		}{"1": {5, 4, 3}, "2": {2, 2, 9}}[e.Device.Driver]
		if e.Winner.Time.Median != want.ms || len(e.Trials) != want.trials || e.Total != want.trials || !e.At.Equal(began.Add(time.Duration(want.end)*time.Hour)) {
			t.Errorf("driver %s: %v ms of %d trials until %s", e.Device.Driver, e.Winner.Time.Median, len(e.Trials), e.At)
		}
		if e.Device.Name != "a GPU" || e.Device.Compiler != "c" || !e.Trials[0].At.Before(e.Trials[1].At) {
			t.Errorf("driver %s: %+v", e.Device.Driver, e.Device)
		}
	}
}
