package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/output"
)

// A timing that exceeds noiseBound, or has fewer samples than intervalSamples, gets a warning.
const (
	noiseBound      = 0.05 // limit of Timing.Noise
	intervalSamples = 6    // the fewest samples whose order statistics bound the median with 95 % probability
)

// WarningKind names the reason why a measurement is doubtful.
type WarningKind string

const (
	Throttled  WarningKind = "throttled"   // the GPU ran below its possible clock
	ClockMoved WarningKind = "clock_moved" // the clock changed between the samples
	Noisy      WarningKind = "noisy"       // the samples spread too far
	FewSamples WarningKind = "few_samples" // too few samples for a 95 % interval
)

// WarningKinds lists every kind of warning in the order of reports.
var WarningKinds = []WarningKind{Throttled, ClockMoved, Noisy, FewSamples}

// Warning is a reason to doubt a measurement: a kind, and the numbers that belong to it.
type Warning struct {
	Kind    WarningKind `json:"kind"`
	Reason  string      `json:"reason,omitempty"`   // the reason of throttling
	LowMHz  int         `json:"low_mhz,omitempty"`  // the lowest clock
	HighMHz int         `json:"high_mhz,omitempty"` // the highest clock
	Noise   float64     `json:"noise,omitempty"`    // Timing.Noise
	Samples int         `json:"samples,omitempty"`  // the smallest number of samples
	Trials  int         `json:"trials,omitempty"`   // trials of a search that have it; 0: it is about one trial
}

func (w Warning) String() string {
	line, _ := w.words()
	return line
}

// words returns the warning as a line about one trial, and as a phrase that gives the worst value among several trials.
func (w Warning) words() (line, extent string) {
	switch w.Kind {
	case Throttled:
		return "throttled: " + w.Reason, "throttled: " + w.Reason
	case ClockMoved:
		return fmt.Sprintf("the clock moved between %d and %d MHz during the samples", w.LowMHz, w.HighMHz),
			fmt.Sprintf("while the clock moved (%d to %d MHz)", w.LowMHz, w.HighMHz)
	case Noisy:
		return fmt.Sprintf("noisy samples: the middle half spreads over %.1f %% of the median", w.Noise*100),
			fmt.Sprintf("noisy (up to %.1f %% of the median)", w.Noise*100)
	case FewSamples:
		return fmt.Sprintf("%d samples are too few for a 95 %% interval, which takes %d: theirs is their whole range", w.Samples, intervalSamples),
			"with too few samples for an interval"
	}
	return w.Reason, w.Reason
}

// Sum returns one line that says how many of the trials each gathered warning concerns, or "" if there are no warnings.
// gathered comes from Gather.
func Sum(gathered []Warning, trials int) string {
	var parts []string
	for _, w := range gathered {
		_, extent := w.words()
		parts = append(parts, fmt.Sprintf("%d %s", w.Trials, extent))
	}
	if len(parts) == 0 {
		return ""
	}
	return "of " + output.Count(trials, "trial") + ": " + strings.Join(parts, ", ")
}

func Lines(warnings []Warning) []string {
	return lists.Of(warnings, Warning.String)
}

// Warnings returns the reasons to doubt the timing: too few samples, or samples that spread too far.
func (t Timing) Warnings() []Warning {
	var all []Warning
	if t.Samples > 0 && t.Samples < intervalSamples {
		all = append(all, Warning{Kind: FewSamples, Samples: t.Samples})
	}
	if noise := t.Noise(); noise > noiseBound {
		all = append(all, Warning{Kind: Noisy, Noise: noise})
	}
	return all
}

// same reports whether two warnings have the same kind and reason, whatever their numbers.
func (w Warning) same(other Warning) bool {
	return w.Kind == other.Kind && w.Reason == other.Reason
}

// with merges two warnings of the same kind and keeps the worse number of each.
func (w Warning) with(other Warning) Warning {
	w.LowMHz, w.HighMHz = least(w.LowMHz, other.LowMHz), max(w.HighMHz, other.HighMHz)
	w.Noise, w.Samples = max(w.Noise, other.Noise), least(w.Samples, other.Samples)
	w.Trials += other.Trials
	return w
}

// least returns the smaller of two numbers; zero means that a number is unknown.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func merge(all, more []Warning) []Warning {
	all = slices.Clone(all)
	for _, w := range more {
		if at := slices.IndexFunc(all, w.same); at >= 0 {
			all[at] = all[at].with(w)
		} else {
			all = append(all, w)
		}
	}
	return all
}

// Gather sums up the warnings of a search's trials by kind: how many trials each concerns, and its worst value. Trials
// that racing stopped early are ignored, because they have few samples on purpose and their spread says little.
func Gather(trials []Trial) []Warning {
	var all []Warning
	for _, t := range trials {
		own := t.Warnings
		if t.Status == OK && !t.Dropped {
			own = merge(own, t.Time.Warnings())
		}
		for _, w := range merge(nil, own) {
			w.Trials = 1
			all = merge(all, []Warning{w})
		}
	}
	slices.SortStableFunc(all, func(a, b Warning) int {
		return cmp.Or(slices.Index(WarningKinds, a.Kind)-slices.Index(WarningKinds, b.Kind), cmp.Compare(b.Trials, a.Trials))
	})
	return all
}
