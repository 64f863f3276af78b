//go:build cuda

package cudaworker

import (
	"math"
	"slices"
	"time"

	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/trial"
)

// What sampling goes by beside the protocol.
const (
	hopeless      = 2.0  // racing drops a variant whose samples all exceed the best time this many times,
	behindBy      = 1.01 // one that surely exceeds it this many times,
	fewestToDrop  = 2    // after so many samples,
	fewestToKnow  = 8    // one of so many samples may be known well enough
	firstLaunch   = 1.5  // and one whose verifying launch exceeds it this many times,
	firstLaunchMS = 1.0  // if that took so long that what a first launch costs is little of it
	firstSpellMS  = 2.0  // length of the spell before the first look, when racing
	batchedMS     = 0.1  // length of a batch of short launches
	greatestBatch = 256
	greatestSpell = 64 // most samples in one spell: there are as many pairs of events
	// MeasureTime ends the sampling once there are so many samples, or as many
	// as the protocol's least; wire.MostOverTime times it ends the sampling anyway.
	fewestOverTime = 3
)

// sampling decides how many samples a variant gets: it is asked after every
// spell of samples for the length of the next one.
type sampling struct {
	protocol device.Protocol
	best     float64 // fastest median so far in milliseconds, 0 if there is none
	samples  []float64
	spent    time.Duration
	dropped  bool // racing ended it
}

// next is how many samples to take now, 0 when there are enough. estimate is
// what one sample takes, in milliseconds, everything included.
func (s *sampling) next(estimate float64) int {
	most := max(s.protocol.Samples, 1)
	least := min(max(s.protocol.MinSamples, 1), most)
	taken := len(s.samples)
	switch {
	case taken >= most || s.outOfTime(taken, least) || s.racing() && s.known(taken):
		return 0
	case s.behind(taken, least):
		s.dropped = true
		return 0
	case s.racing() && taken == 0:
		return min(max(fewestToDrop, atLeastOne(firstSpellMS/estimate)), least)
	case s.racing(): // looks again whenever there are twice as many
		return min(taken, most-taken, s.affordable(estimate))
	case taken < least:
		return min(least-taken, s.affordable(estimate))
	default:
		return min(most-taken, s.affordable(estimate))
	}
}

func (s *sampling) racing() bool { return s.best > 0 && s.protocol.DropRatio > 0 }

// lost tells whether the verifying launch alone shows that a variant is far
// behind.
func (s *sampling) lost(launchMS float64) bool {
	return s.racing() && launchMS > firstLaunch*s.best && launchMS > firstLaunchMS
}

// known tells whether so many samples already say what they can: medians less than
// the resolution apart tie in any case, and the finals take samples anew.
func (s *sampling) known(taken int) bool {
	if taken < fewestToKnow {
		return false
	}
	t := trial.Summarise(s.samples, 1)
	return t.CI95[1]-t.CI95[0] <= trial.Resolution*t.Median
}

// behind tells whether racing is lost.
func (s *sampling) behind(taken, least int) bool {
	if !s.racing() {
		return false
	}
	if taken < fewestToDrop {
		return false
	}
	return slices.Min(s.samples) > hopeless*s.best || surelyAbove(s.samples, behindBy*s.best) ||
		taken >= least && trial.Median(s.samples) > s.protocol.DropRatio*s.best
}

func (s *sampling) outOfTime(taken, least int) bool {
	limit := s.protocol.MeasureTime
	if limit <= 0 || taken == 0 {
		return false
	}
	return s.spent >= limit && taken >= min(least, fewestOverTime) || s.spent >= wire.MostOverTime*limit
}

// affordable is how many samples fit into the time that is left, at least one.
func (s *sampling) affordable(estimate float64) int {
	if s.protocol.MeasureTime <= 0 || estimate <= 0 {
		return greatestSpell
	}
	left := float64(s.protocol.MeasureTime-s.spent) / float64(time.Millisecond)
	return min(atLeastOne(left/estimate), greatestSpell)
}

// batchFor is how many launches make a sample: one, unless a launch is too short
// for the events around it.
func batchFor(launchMS float64, below time.Duration) int {
	if launchMS >= float64(below)/float64(time.Millisecond) {
		return 1
	}
	if launchMS <= 0 {
		return greatestBatch
	}
	return min(atLeastOne(math.Ceil(batchedMS/launchMS)), greatestBatch)
}

func atLeastOne(x float64) int {
	if !(x >= 1) { // NaN included
		return 1
	}
	return int(min(x, greatestSpell*greatestBatch))
}
