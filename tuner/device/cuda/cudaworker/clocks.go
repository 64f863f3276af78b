//go:build cuda

package cudaworker

import (
	"time"

	"autotune/tuner/trial"
)

// Reasons for which a GPU runs below the clock it could have, as the bits that
// NVML reports; those that say nothing about a measurement are left out.
var throttleReasons = []struct {
	bit  uint64
	text string
}{
	{0x04, "power limit"},
	{0x08, "hardware slowdown"},
	{0x20, "temperature (driver)"},
	{0x40, "temperature (hardware)"},
	{0x80, "power brake"},
}

func throttleWarnings(reasons uint64) []trial.Warning {
	var warnings []trial.Warning
	for _, r := range throttleReasons {
		if reasons&r.bit != 0 {
			warnings = append(warnings, trial.Warning{Kind: trial.Throttled, Reason: r.text})
		}
	}
	return warnings
}

// reading is what one look at the GPU saw.
type reading struct {
	at      time.Time
	mhz     int    // of the multiprocessors, 0 if unknown
	reasons uint64 // what holds it down, as NVML reports it
	celsius int    // 0 if unknown
	slows   int    // degrees at which the GPU slows down
}

// What is worth a warning.
const (
	movedBound = 0.05 // that the clock moves under a variant's samples by more, as a share of its highest value
	hotMargin  = 5    // that the GPU is so many degrees, or fewer, below those at which it slows down
)

// clocks sums up the readings taken during one variant's samples.
type clocks struct {
	since           time.Time // when the samples began
	last            int       // MHz, 0 if unknown
	lowest, highest int
	reasons         uint64 // of all readings
	celsius, slows  int    // the highest, and where the GPU slows down
}

// add counts a reading. One from before the samples began tells the clock but
// not how it moved.
func (c *clocks) add(r reading) {
	c.last = r.mhz
	c.reasons |= r.reasons
	c.celsius, c.slows = max(c.celsius, r.celsius), max(c.slows, r.slows)
	if r.mhz == 0 || r.at.Before(c.since) {
		return
	}
	if c.lowest == 0 || r.mhz < c.lowest {
		c.lowest = r.mhz
	}
	c.highest = max(c.highest, r.mhz)
}

// warnings are what makes the samples doubtful.
func (c *clocks) warnings() []trial.Warning {
	all := throttleWarnings(c.reasons)
	if float64(c.highest-c.lowest) > movedBound*float64(c.highest) {
		all = append(all, trial.Warning{Kind: trial.ClockMoved, LowMHz: c.lowest, HighMHz: c.highest})
	}
	if c.slows > 0 && c.celsius >= c.slows-hotMargin {
		all = append(all, trial.Warning{Kind: trial.Hot, Celsius: c.celsius, Slows: c.slows})
	}
	return all
}
