package recording

import (
	"fmt"
	"math"

	"autotune/tuner/trial"
)

// measurement is one measured quantity in T4's form.
type measurement struct {
	Name  string `json:"name"`
	Value number `json:"value"`
	Unit  string `json:"unit"`
}

// quantity is something that is measured of a variant besides its time.
type quantity struct {
	name, unit string
	field      func(*trial.Outcome) any // pointer to a float64, an int or an int64
}

var quantities = []quantity{
	{"max_abs_error", "", func(o *trial.Outcome) any { return &o.MaxAbsError }},
	{"registers", "", func(o *trial.Outcome) any { return &o.Resources.Registers }},
	{"shared_bytes", "B", func(o *trial.Outcome) any { return &o.Resources.SharedBytes }},
	{"local_bytes", "B", func(o *trial.Outcome) any { return &o.Resources.LocalBytes }},
	{"occupancy", "", func(o *trial.Outcome) any { return &o.Resources.Occupancy }},
	{"clock_mhz", "MHz", func(o *trial.Outcome) any { return &o.ClockMHz }},
	{"energy_mj", "mJ", func(o *trial.Outcome) any { return &o.EnergyMJ }},
}

func (q quantity) get(o *trial.Outcome) float64 {
	switch field := q.field(o).(type) {
	case *float64:
		return *field
	case *int:
		return float64(*field)
	case *int64:
		return float64(*field)
	}
	panic(fmt.Sprintf("recording: the field of %s is no number", q.name))
}

func (q quantity) set(o *trial.Outcome, x float64) {
	field := q.field(o)
	if f, ok := field.(*float64); ok {
		*f = x
	}
	if math.IsNaN(x) {
		return
	}
	switch field := field.(type) {
	case *int:
		*field = int(x)
	case *int64:
		*field = int64(x)
	}
}

// measurements lists what was measured; a quantity that is zero is left out.
func measurements(o trial.Outcome, samples []float64) []measurement {
	list := []measurement{}
	if o.Status == trial.OK {
		list = append(list, measurement{objective, number(round(trial.Median(samples))), "ms"})
	}
	for _, q := range quantities {
		if x := q.get(&o); x != 0 {
			list = append(list, measurement{q.name, number(round(x)), q.unit})
		}
	}
	return list
}

// measured is the value of a measurement; false if it was not made.
func (r result) measured(name string) (float64, bool) {
	for _, m := range r.Measurements {
		if m.Name == name {
			return float64(m.Value), true
		}
	}
	return 0, false
}
