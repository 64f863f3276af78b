package verify

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
)

const (
	hopeless      = 2.0  // racing drops a variant whose samples all exceed the best time this many times,
	behindBy      = 1.01 // one that surely exceeds it this many times,
	fewestToDrop  = 2    // after so many samples,
	fewestToKnow  = 8    // one of so many samples may be known well enough,
	costly        = 50 * time.Millisecond
	costlyWidth   = 0.01 // where they took longer, with an interval of this share
	firstLaunch   = 1.5  // and one whose verifying launch exceeds it this many times,
	firstLaunchMS = 1.0  // if that took so long that what a first launch costs is little of it
	firstSpellMS  = 2.0  // length of the spell before the first look, when racing
	batchedMS     = 0.1  // length of a batch of short launches
	greatestBatch = 256
	// MeasureTime ends the sampling once there are so many samples, or as many as the protocol's least.
	fewestOverTime = 3
)

// MostOverTime times the protocol's MeasureTime ends the sampling, even of a variant that has too few samples.
const MostOverTime = 4

// GreatestSpell is how many samples one spell has at most. A device needs a pair of events for each.
const GreatestSpell = 64

// Sampling decides how many samples a variant gets. It is asked after every spell of
// samples for the length of the next one.
type Sampling struct {
	Protocol device.Protocol
	Best     float64 // fastest median so far in milliseconds, 0 if there is none
	Samples  []float64
	Spent    time.Duration
	Dropped  bool // racing ended it
}

// Next is how many samples to take now, 0 when there are enough. estimate is
// what one sample takes, in milliseconds, everything included.
func (s *Sampling) Next(estimate float64) int {
	most := max(s.Protocol.Samples, 1)
	least := min(max(s.Protocol.MinSamples, 1), most)
	taken := len(s.Samples)
	switch {
	case taken >= most || s.outOfTime(taken, least) || s.racing() && s.known(taken):
		return 0
	case s.behind(taken, least):
		s.Dropped = true
		return 0
	case s.racing() && taken == 0:
		return min(max(fewestToDrop, AtLeastOne(firstSpellMS/estimate)), least)
	case s.racing(): // looks again at twice as many
		return min(taken, most-taken, s.affordable(estimate))
	case taken < least:
		return min(least-taken, s.affordable(estimate))
	default:
		return min(most-taken, s.affordable(estimate))
	}
}

func (s *Sampling) racing() bool { return s.Best > 0 && s.Protocol.DropRatio > 0 }

// Lost tells whether the verifying launch alone shows that a variant is far behind.
func (s *Sampling) Lost(launchMS float64) bool {
	return s.racing() && launchMS > firstLaunch*s.Best && launchMS > firstLaunchMS
}

// known tells whether more samples would be of no use: medians less than the resolution apart tie in any case, and
// the finals take new samples. For long launches a wider interval is enough, so that others are tried.
func (s *Sampling) known(taken int) bool {
	if taken < fewestToKnow {
		return false
	}
	t := trial.Summarise(s.Samples, 1)
	width := trial.Resolution
	if s.Spent > costly {
		width = costlyWidth
	}
	return t.CI95[1]-t.CI95[0] <= width*t.Median
}

func (s *Sampling) behind(taken, least int) bool {
	if !s.racing() || taken < fewestToDrop {
		return false
	}
	return slices.Min(s.Samples) > hopeless*s.Best || surelyAbove(s.Samples, behindBy*s.Best) ||
		taken >= least && trial.Median(s.Samples) > s.Protocol.DropRatio*s.Best
}

func (s *Sampling) outOfTime(taken, least int) bool {
	limit := s.Protocol.MeasureTime
	if limit <= 0 || taken == 0 {
		return false
	}
	return s.Spent >= limit && taken >= min(least, fewestOverTime) || s.Spent >= MostOverTime*limit
}

// affordable is how many samples fit into the time that is left, at least one.
func (s *Sampling) affordable(estimate float64) int {
	if s.Protocol.MeasureTime <= 0 || estimate <= 0 {
		return GreatestSpell
	}
	left := trial.MS(s.Protocol.MeasureTime - s.Spent)
	return min(AtLeastOne(left/estimate), GreatestSpell)
}

// BatchFor is how many launches make a sample: one, unless a launch is too short for the events around it.
func BatchFor(launchMS float64, below time.Duration) int {
	if launchMS >= trial.MS(below) {
		return 1
	}
	if launchMS <= 0 {
		return greatestBatch
	}
	return min(AtLeastOne(math.Ceil(batchedMS/launchMS)), greatestBatch)
}

// AtLeastOne is a count of at least one, and of no more launches than a spell may have.
func AtLeastOne(x float64) int {
	if !(x >= 1) { // NaN included
		return 1
	}
	return int(min(x, GreatestSpell*greatestBatch))
}

const (
	// racingError is how often racing may drop a variant that it should not, were the spread of its samples known.
	racingError = 0.001
	// spreadDoubt is how often the true spread exceeds the assumed bound.
	spreadDoubt = 0.05
	// leastSpread is the least standard deviation that samples are taken to have,
	// relative to their mean: a few that agree may all be off by so much.
	leastSpread = 0.005
)

// surelyAbove tells whether the samples' centre, of two at least, is above a bound. It may be asked after every
// sample. It looks at a confidence sequence of the logarithms' mean, with the upper confidence bound of their
// standard deviation. The sequence is the mixture boundary of Robbins (Statistical methods related to the law of the
// iterated logarithm, 1970). Howard and others state it as equation 14 of Time-uniform, nonparametric, nonasymptotic
// confidence sequences, 2021.
func surelyAbove(samples []float64, bound float64) bool {
	logs := lists.Of(samples, func(ms float64) float64 { return math.Log(ms / bound) })
	mean, deviation := stat.MeanStdDev(logs, nil)
	n := float64(len(samples))
	most := deviation * math.Sqrt((n-1)/distuv.ChiSquared{K: n - 1}.Quantile(spreadDoubt))
	return mean > max(most, leastSpread)*math.Sqrt((n+1)*math.Log((n+1)/(racingError*racingError)))/n
}
