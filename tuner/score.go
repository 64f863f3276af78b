package tuner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"autotune/device"
	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner/final"
)

// Objective is what a search looks for the best of: a measurement or a metric of the
// operator's own. The zero value is the shortest time.
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
// is the best, and the most of the occupancy. For a metric the operator decides.
func ParseObjective(o *operator.Operator, text string) (Objective, error) {
	direction, name, said := strings.Cut(text, ":")
	if !said {
		direction, name = "", text
	}
	if said && !slices.Contains(operator.Directions(), direction) {
		return Objective{}, fmt.Errorf("objective %q: want NAME, max:NAME or min:NAME", text)
	}
	if slices.Contains(operator.MeasuredNames(), name) {
		objective := Objective{name, direction == "max" || direction == "" && name == "occupancy"}
		if objective == (Objective{Name: "time"}) {
			return Objective{}, nil
		}
		return objective, nil
	}
	if _, ok := o.Metric(name); !ok {
		names := operator.MeasuredNames()
		names = append(names, lists.Of(o.Metrics, func(m operator.Metric) string { return m.Name })...)
		return Objective{}, fmt.Errorf("%s has no objective %q; there are %s", o.Name, name, strings.Join(names, ", "))
	}
	if direction == "" {
		return Objective{}, fmt.Errorf("is the most or the least of %s the best? say --objective max:%[1]s or min:%[1]s", name)
	}
	return Objective{name, direction == "max"}, nil
}

func (o Objective) needs(op *operator.Operator) []string {
	if m, ok := op.Metric(o.Name); ok {
		return m.Needs()
	}
	return []string{o.Name}
}

func checkObjective(o Objective, op *operator.Operator, can device.Properties) error {
	if o.Name == "" || can.Measures || !can.Compiles {
		return nil
	}
	for _, name := range o.needs(op) {
		if name != "time" {
			return fmt.Errorf("%s does not measure %s, which the objective %s needs; search on a GPU", can.Label, name, o)
		}
	}
	return nil
}

// measured are a trial's measurements by the names that metrics use, for a launch of ms
// milliseconds.
func measured(t trial.Trial, ms float64) map[string]float64 {
	known := map[string]float64{"time": ms / 1e3}
	for _, name := range operator.MeasuredNames() {
		if x, ok := recording.Measured(t.Outcome, name); ok {
			known[name] = x
		}
	}
	return known
}

// ranking compares the trials of a problem under an objective.
type ranking struct {
	Objective
	metrics func(c space.Configuration, measured map[string]float64) map[string]float64 // the operator's own
}

func (r ranking) scale() final.Scale { return final.Scale{Standing: r.standing, Measure: r.measure} }

func (r ranking) measure(t *trial.Trial) {
	t.Metrics = nil
	if t.Status == trial.OK {
		t.Metrics = r.metrics(t.Configuration, measured(*t, t.Time.Median))
	}
}

// SetMetrics computes the operator's own metrics of a trial anew.
func SetMetrics(p *operator.Problem, t *trial.Trial) { ranking{metrics: p.Metrics}.measure(t) }

// standing is the quantity by which trials are ranked: the smaller its median, the better. Trials whose intervals
// overlap cannot be told apart. For the shortest time it is the time. For a quantity that is to be large it is the
// inverse, so that ratios stay ratios. It is not ok where the quantity is not known, or not a number above 0. Nothing
// else knows what a search looks for.
func (r ranking) standing(t trial.Trial) (trial.Timing, bool) {
	if r.Name == "" || t.Status != trial.OK {
		return t.Time, t.Status == trial.OK
	}
	stands := trial.Timing{Samples: t.Time.Samples}
	low, okLow := r.score(t, t.Time.CI95[0])
	high, okHigh := r.score(t, t.Time.CI95[1])
	median, ok := r.score(t, t.Time.Median)
	stands.Median, stands.CI95 = median, [2]float64{min(low, high), max(low, high)}
	return stands, ok && okLow && okHigh
}

// score is the objective of a trial for a launch of ms milliseconds, the smaller the better.
func (r ranking) score(t trial.Trial, ms float64) (float64, bool) {
	known := measured(t, ms)
	x, ok := known[r.Name]
	if !ok {
		x, ok = r.metrics(t.Configuration, known)[r.Name]
	}
	if !ok || !(x > 0) || math.IsInf(x, 0) {
		return 0, false
	}
	if r.Max {
		x = 1 / x
	}
	return x, true
}
