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
	hopeless      = 2.0  // racing drops a variant if all samples exceed the best time by this factor,
	behindBy      = 1.01 // or if it surely exceeds the best time by this factor,
	fewestToDrop  = 2    // after at least this many samples
	fewestToKnow  = 8    // with this many samples a time may be known well enough,
	costly        = 50 * time.Millisecond
	costlyWidth   = 0.01 // after longer sampling, with an interval of this relative width
	firstLaunch   = 1.5  // a variant is lost if its verifying launch exceeds the best time by this factor
	firstLaunchMS = 1.0  // and takes so long that the extra cost of a first launch hardly matters
	firstSpellMS  = 2.0  // length of the first spell when racing
	batchedMS     = 0.1  // length of a batch of short launches
	greatestBatch = 256
	// Once the protocol's MeasureTime is over, sampling ends after fewestOverTime samples, or after the protocol's
	// minimum if that is smaller.
	fewestOverTime = 3
)

// After MostOverTime times the protocol's MeasureTime, sampling ends even if a variant has too few samples.
const MostOverTime = 4

// GreatestSpell is the largest number of samples in one spell, that is in one uninterrupted series of samples. A
// device allocates a pair of events for each sample of a spell (an uninterrupted series of samples).
const GreatestSpell = 64

// Sampling decides how many samples a variant gets. After every spell (an uninterrupted series) of samples, the device
// calls Next for the length of the next spell.
type Sampling struct {
	Protocol device.Protocol
	Best     float64 // fastest median so far in milliseconds, 0 if there is none
	Samples  []float64
	Spent    time.Duration
	Dropped  bool // racing ended the sampling
}

// Next returns how many samples to take now, or 0 if there are enough. estimate is the cost of a sample in ms.
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

// Lost reports whether the verifying launch alone shows that a variant is far slower than the best.
func (s *Sampling) Lost(launchMS float64) bool {
	return s.racing() && launchMS > firstLaunch*s.Best && launchMS > firstLaunchMS
}

// known reports whether the samples give the time precisely enough: medians that differ by less than the resolution
// count as equal, and the finals take new samples anyway. For long launches, a wider confidence interval is enough, so
// that more of the search's time goes to other variants.
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

// affordable returns how many samples fit into the remaining time, at least one.
func (s *Sampling) affordable(estimate float64) int {
	if s.Protocol.MeasureTime <= 0 || estimate <= 0 {
		return GreatestSpell
	}
	left := trial.MS(s.Protocol.MeasureTime - s.Spent)
	return min(AtLeastOne(left/estimate), GreatestSpell)
}

// BatchFor returns how many launches make up one sample: one, unless a launch is too short to be timed with events.
func BatchFor(launchMS float64, below time.Duration) int {
	if launchMS >= trial.MS(below) {
		return 1
	}
	if launchMS <= 0 {
		return greatestBatch
	}
	return min(AtLeastOne(math.Ceil(batchedMS/launchMS)), greatestBatch)
}

// AtLeastOne rounds a count of launches down to an integer that is at least one and at most the number of launches in
// the greatest spell (an uninterrupted series) of samples.
func AtLeastOne(x float64) int {
	if !(x >= 1) { // NaN included
		return 1
	}
	return int(min(x, GreatestSpell*greatestBatch))
}

const (
	// racingError is the probability that racing (stopping the samples of slow variants early) drops a variant that it
	// should keep, if the samples' spread is known.
	racingError = 0.001
	// spreadDoubt is the probability that the true spread exceeds the assumed bound.
	spreadDoubt = 0.05
	// leastSpread is the smallest relative standard deviation that samples are assumed to have. Even if a few samples
	// agree better than leastSpread, all of them may differ from the true time by that much.
	leastSpread = 0.005
)

// surelyAbove reports whether at least two samples prove, with high probability, that a variant's time is above a
// bound. The test of whether the time is above the bound may be repeated after every sample: it is a confidence
// sequence for the mean of the samples' logarithms, with the upper confidence bound of their standard deviation.
// The confidence sequence used is the mixture boundary of Robbins (Statistical methods related to the law of the
// iterated logarithm, 1970). Howard and others state the mixture boundary as equation 14 of Time-uniform,
// nonparametric, nonasymptotic confidence sequences, 2021.
func surelyAbove(samples []float64, bound float64) bool {
	logs := lists.Of(samples, func(ms float64) float64 { return math.Log(ms / bound) })
	mean, deviation := stat.MeanStdDev(logs, nil)
	n := float64(len(samples))
	most := deviation * math.Sqrt((n-1)/distuv.ChiSquared{K: n - 1}.Quantile(spreadDoubt))
	return mean > max(most, leastSpread)*math.Sqrt((n+1)*math.Log((n+1)/(racingError*racingError)))/n
}
