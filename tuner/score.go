package tuner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"autotune/tuner/operator"
	"autotune/tuner/recording"
	"autotune/tuner/trial"
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

// ParseObjective reads NAME, min:NAME or max:NAME. Measurements are to be small unless
// it is said, but for the occupancy; metrics as the operator says.
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
	m, ok := o.Metric(name)
	if !ok {
		names := operator.MeasuredNames()
		for _, m := range o.Metrics {
			names = append(names, m.Name)
		}
		return Objective{}, fmt.Errorf("%s has no objective %q; there are %s", o.Name, name, strings.Join(names, ", "))
	}
	if direction == "" {
		direction = m.Best
	}
	if direction == "" {
		return Objective{}, fmt.Errorf("is the most or the least of %s the best? say --objective max:%[1]s or min:%[1]s, or `best: max` in its metrics", name)
	}
	return Objective{name, direction == "max"}, nil
}

// needs are the measurements that the objective is made of.
func (o Objective) needs(op *operator.Operator) []string {
	if m, ok := op.Metric(o.Name); ok {
		return m.Needs()
	}
	return []string{o.Name}
}

// wantsEnergy tells whether every variant's energy counts.
func (s *search) wantsEnergy() bool {
	return slices.Contains(s.Objective.needs(s.problem.Operator), "energy")
}

// checkObjective refuses an objective that a device does not measure.
func (s *search) checkObjective() error {
	if s.Objective.Name == "" || s.can.Measures || !s.can.Compiles {
		return nil
	}
	for _, name := range s.Objective.needs(s.problem.Operator) {
		if name != "time" {
			return fmt.Errorf("%s does not measure %s, which the objective %s needs; search on a GPU", s.can.Label, name, s.Objective)
		}
	}
	return nil
}

// measured is what is known of a trial by the names that metrics know it by, if its
// launch took so long.
func measured(t trial.Trial, ms float64) map[string]float64 {
	known := map[string]float64{"time": ms / 1e3}
	for _, name := range operator.MeasuredNames() {
		if x, ok := recording.Measured(t.Outcome, name); ok {
			known[name] = x
		}
	}
	if x, ok := recording.Measured(t.Outcome, "energy_mj"); ok {
		known["energy"] = x / 1e3
	}
	return known
}

// SetMetrics computes the operator's own metrics of a trial anew.
func SetMetrics(p *operator.Problem, t *trial.Trial) {
	t.Metrics = nil
	if t.Status == trial.OK {
		t.Metrics = p.Metrics(t.Configuration, measured(*t, t.Time.Median))
	}
}

// standing is how a trial stands: the smaller its median, the better, and what its
// interval reaches cannot be told from it. It is the one place that knows what a search
// looks for. For the time it is the time; of something large it is the inverse, so that
// ratios stay ratios. Not ok where it is not known, or no number above 0.
func (s *search) standing(t trial.Trial) (trial.Timing, bool) {
	if s.Objective.Name == "" || t.Status != trial.OK {
		return t.Time, t.Status == trial.OK
	}
	stands := trial.Timing{Samples: t.Time.Samples}
	low, okLow := s.score(t, t.Time.CI95[0])
	high, okHigh := s.score(t, t.Time.CI95[1])
	median, ok := s.score(t, t.Time.Median)
	stands.Median, stands.CI95 = median, [2]float64{min(low, high), max(low, high)}
	return stands, ok && okLow && okHigh
}

// score is the objective of a trial if its launch took so long, the smaller the better.
func (s *search) score(t trial.Trial, ms float64) (float64, bool) {
	known := measured(t, ms)
	x, ok := known[s.Objective.Name]
	if !ok {
		x, ok = s.problem.Metrics(t.Configuration, known)[s.Objective.Name]
	}
	if !ok || !(x > 0) || math.IsInf(x, 0) {
		return 0, false
	}
	if s.Objective.Max {
		x = 1 / x
	}
	return x, true
}
