//go:build cuda

package cudaworker

import (
	"fmt"
	"time"
)

// Reasons for which a GPU runs below the clock it could have, as the bits that
// NVML reports; those that say nothing about a measurement are left out.
var throttleReasons = []struct {
	bit  uint64
	text string
}{
	{0x04, "throttled: power limit"},
	{0x08, "throttled: hardware slowdown"},
	{0x20, "throttled: temperature (driver)"},
	{0x40, "throttled: temperature (hardware)"},
	{0x80, "throttled: power brake"},
}

func throttleWarnings(reasons uint64) []string {
	var warnings []string
	for _, r := range throttleReasons {
		if reasons&r.bit != 0 {
			warnings = append(warnings, r.text)
		}
	}
	return warnings
}

// reading is what one look at the GPU's clock saw.
type reading struct {
	at      time.Time
	mhz     int    // of the multiprocessors, 0 if unknown
	reasons uint64 // what holds it down, as NVML reports it
}

// movedBound is how far the clock may move under a variant's samples, as a share
// of its highest value, before they get a warning.
const movedBound = 0.05

// clocks sums up the readings taken during one variant's samples.
type clocks struct {
	since           time.Time // when the samples began
	last            int       // MHz, 0 if unknown
	lowest, highest int
	reasons         uint64 // of all readings
}

// add counts a reading. One from before the samples began tells the clock but
// not how it moved.
func (c *clocks) add(r reading) {
	c.last = r.mhz
	c.reasons |= r.reasons
	if r.mhz == 0 || r.at.Before(c.since) {
		return
	}
	if c.lowest == 0 || r.mhz < c.lowest {
		c.lowest = r.mhz
	}
	c.highest = max(c.highest, r.mhz)
}

// warnings are what makes the samples doubtful.
func (c *clocks) warnings() []string {
	all := throttleWarnings(c.reasons)
	if float64(c.highest-c.lowest) > movedBound*float64(c.highest) {
		all = append(all, fmt.Sprintf("the clock moved between %d and %d MHz during the samples", c.lowest, c.highest))
	}
	return all
}
