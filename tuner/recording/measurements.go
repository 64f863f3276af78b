package recording

import (
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
	get        func(*trial.Outcome) float64
	set        func(*trial.Outcome, float64)
	zero       func(*trial.Outcome) bool // zero is what was measured; nil: it is not known
}

var quantities = []quantity{
	quantityOf("max_abs_error", "", func(o *trial.Outcome) *float64 { return &o.MaxAbsError }).orZero(compared),
	quantityOf("registers", "", func(o *trial.Outcome) *int { return &o.Resources.Registers }),
	quantityOf("shared_bytes", "B", func(o *trial.Outcome) *int64 { return &o.Resources.SharedBytes }).orZero(compiled),
	quantityOf("local_bytes", "B", func(o *trial.Outcome) *int64 { return &o.Resources.LocalBytes }).orZero(compiled),
	quantityOf("occupancy", "", func(o *trial.Outcome) *float64 { return &o.Resources.Occupancy }),
	quantityOf("clock_mhz", "MHz", func(o *trial.Outcome) *int { return &o.ClockMHz }),
	quantityOf("energy_mj", "mJ", func(o *trial.Outcome) *float64 { return &o.EnergyMJ }),
	quantityOf("celsius", "°C", func(o *trial.Outcome) *int { return &o.Celsius }),
}

func quantityOf[T int | int64 | float64](name, unit string, field func(*trial.Outcome) *T) quantity {
	set := func(o *trial.Outcome, x float64) {
		// No integer is NaN.
		if _, float := any(T(0)).(float64); float || !math.IsNaN(x) {
			*field(o) = T(x)
		}
	}
	return quantity{name: name, unit: unit, get: func(o *trial.Outcome) float64 { return float64(*field(o)) }, set: set}
}

// orZero is the quantity where zero can be what was measured.
func (q quantity) orZero(known func(*trial.Outcome) bool) quantity {
	q.zero = known
	return q
}

func compared(o *trial.Outcome) bool { return o.Status == trial.OK }
func compiled(o *trial.Outcome) bool { return o.Resources.Registers > 0 }

// Quantities are the names of what is measured of a variant besides its time.
func Quantities() []string {
	var names []string
	for _, q := range quantities {
		names = append(names, q.name)
	}
	return names
}

// Measured is the value of a quantity; false if it is not known.
func Measured(o trial.Outcome, name string) (float64, bool) {
	for _, q := range quantities {
		if q.name == name {
			x := q.get(&o)
			return x, x != 0 || q.zero != nil && q.zero(&o)
		}
	}
	return 0, false
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
