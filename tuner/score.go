package tuner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"autotune/device"
	"autotune/device/recording"
	"autotune/device/trial"
)

// measurements are what a search may look for the best of.
var measurements = []string{"energy", "local_bytes", "occupancy", "registers", "shared_bytes", "time"}

// Objective is the measurement that a search looks for the best of. The zero value is the shortest time.
type Objective struct {
	Name string // "": the time
	Max  bool   // the largest is the best
}

// String names it as ParseObjective reads it; "" for the time.
func (o Objective) String() string {
	if o.Name == "" {
		return ""
	}
	return map[bool]string{true: "max:", false: "min:"}[o.Max] + o.Name
}

// ParseObjective reads NAME, min:NAME or max:NAME. Without min or max, the least of a measurement
// is the best, and the most of the occupancy.
func ParseObjective(text string) (Objective, error) {
	direction, name, said := strings.Cut(text, ":")
	if !said {
		direction, name = "", text
	}
	if said && direction != "min" && direction != "max" {
		return Objective{}, fmt.Errorf("objective %q: want NAME, max:NAME or min:NAME", text)
	}
	if !slices.Contains(measurements, name) {
		return Objective{}, fmt.Errorf("there is no objective %q; there are %s", name, strings.Join(measurements, ", "))
	}
	o := Objective{name, direction == "max" || direction == "" && name == "occupancy"}
	if o == (Objective{Name: "time"}) {
		return Objective{}, nil
	}
	return o, nil
}

func checkObjective(o Objective, can device.Properties) error {
	if o.Name == "" || o.Name == "time" || can.Measures || !can.Compiles {
		return nil
	}
	return fmt.Errorf("%s does not measure %s, which the objective %s needs; search on a GPU", can.Label, o.Name, o)
}

// standing is the quantity by which trials are ranked: the smaller its median, the better. Trials whose intervals
// overlap cannot be told apart. For the shortest time it is the time. For a quantity that is to be large it is the
// inverse, so that ratios stay ratios. It is not ok where the quantity is not known, or not a number above 0. Nothing
// else knows what a search looks for.
func (o Objective) standing(t trial.Trial) (trial.Timing, bool) {
	if o.Name == "" || t.Status != trial.OK {
		return t.Time, t.Status == trial.OK
	}
	stands := trial.Timing{Samples: t.Time.Samples}
	low, okLow := o.score(t, t.Time.CI95[0])
	high, okHigh := o.score(t, t.Time.CI95[1])
	median, ok := o.score(t, t.Time.Median)
	stands.Median, stands.CI95 = median, [2]float64{min(low, high), max(low, high)}
	return stands, ok && okLow && okHigh
}

// score is the objective of a trial for a launch of ms milliseconds, the smaller the better.
func (o Objective) score(t trial.Trial, ms float64) (x float64, ok bool) {
	switch o.Name {
	case "time":
		x, ok = ms/1e3, true
	case "energy":
		x, ok = recording.Measured(t.Outcome, "energy_mj")
		x /= 1e3
	default:
		x, ok = recording.Measured(t.Outcome, o.Name)
	}
	if !ok || !(x > 0) || math.IsInf(x, 0) {
		return 0, false
	}
	if o.Max {
		x = 1 / x
	}
	return x, true
}
