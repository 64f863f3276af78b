package gpu

import (
	"slices"
	"time"

	"autotune/tuner/trial"
)

// These limits are worth a warning when they are passed.
const (
	movedBound = 0.05 // that the clock moves under a variant's samples by more, as a share of its highest value
	hotMargin  = 5    // that the GPU is so many degrees, or fewer, below those at which it slows down
)

// clocks sums up the readings taken during one variant's samples.
type clocks struct {
	since           time.Time // when the samples began
	last            int       // MHz, 0 if unknown
	lowest, highest int
	throttled       []string // by any of the readings
	celsius, slows  int      // the highest, and where the GPU slows down
}

// add counts a reading. One from before the samples began tells the clock but
// not how it moved.
func (c *clocks) add(r Reading) {
	c.last = r.MHz
	for _, reason := range r.Throttled {
		if !slices.Contains(c.throttled, reason) {
			c.throttled = append(c.throttled, reason)
		}
	}
	c.celsius, c.slows = max(c.celsius, r.Celsius), max(c.slows, r.Slows)
	if r.MHz == 0 || r.At.Before(c.since) {
		return
	}
	if c.lowest == 0 || r.MHz < c.lowest {
		c.lowest = r.MHz
	}
	c.highest = max(c.highest, r.MHz)
}

// warnings are what makes the samples doubtful.
func (c *clocks) warnings() []trial.Warning {
	var all []trial.Warning
	for _, reason := range c.throttled {
		all = append(all, trial.Warning{Kind: trial.Throttled, Reason: reason})
	}
	if float64(c.highest-c.lowest) > movedBound*float64(c.highest) {
		all = append(all, trial.Warning{Kind: trial.ClockMoved, LowMHz: c.lowest, HighMHz: c.highest})
	}
	if c.slows > 0 && c.celsius >= c.slows-hotMargin {
		all = append(all, trial.Warning{Kind: trial.Hot, Celsius: c.celsius, Slows: c.slows})
	}
	return all
}
