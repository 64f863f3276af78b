package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/output"
)

// A timing is worth a warning beyond these bounds.
const (
	noiseBound      = 0.05 // of Timing.Noise
	intervalSamples = 6    // the fewest whose order statistics bound the median with 95 %
)

// WarningKind says what is doubtful about a measurement.
type WarningKind string

const (
	Throttled    WarningKind = "throttled"     // the GPU ran below the clock that it could have
	ClockMoved   WarningKind = "clock_moved"   // between the samples
	OtherProcess WarningKind = "other_process" // another process had a context on the GPU
	Noisy        WarningKind = "noisy"         // the samples lie far apart
	FewSamples   WarningKind = "few_samples"   // for a 95 % interval
)

// WarningKinds lists every kind, in the order in which reports show them.
var WarningKinds = []WarningKind{Throttled, ClockMoved, OtherProcess, Noisy, FewSamples}

// Warning is a reason to doubt a measurement: its kind, and the numbers that belong to it.
type Warning struct {
	Kind    WarningKind `json:"kind"`
	Reason  string      `json:"reason,omitempty"`   // of throttling
	LowMHz  int         `json:"low_mhz,omitempty"`  // the clock's lowest
	HighMHz int         `json:"high_mhz,omitempty"` // and its highest
	PID     int         `json:"pid,omitempty"`      // of the other process; 0 if the system does not tell
	Bytes   int64       `json:"bytes,omitempty"`    // of the GPU's memory that it has; 0 if unknown
	Noise   float64     `json:"noise,omitempty"`    // Timing.Noise
	Samples int         `json:"samples,omitempty"`  // the fewest
	Trials  int         `json:"trials,omitempty"`   // of a search, that it is about; 0: it is about one
}

func (w Warning) String() string {
	line, _ := w.words()
	return line
}

// words are a line about one trial, and how far it went at most in several.
func (w Warning) words() (line, extent string) {
	switch w.Kind {
	case Throttled:
		return "throttled: " + w.Reason, "throttled: " + w.Reason
	case ClockMoved:
		return fmt.Sprintf("the clock moved between %d and %d MHz during the samples", w.LowMHz, w.HighMHz),
			fmt.Sprintf("while the clock moved (%d to %d MHz)", w.LowMHz, w.HighMHz)
	case OtherProcess:
		return "another process was on the GPU: " + w.process(), "beside another process (" + w.process() + ")"
	case Noisy:
		return fmt.Sprintf("noisy samples: the middle half spreads over %.1f %% of the median", w.Noise*100),
			fmt.Sprintf("noisy (up to %.1f %% of the median)", w.Noise*100)
	case FewSamples:
		return fmt.Sprintf("%d samples are too few for a 95 %% interval, which takes %d: theirs is their whole range", w.Samples, intervalSamples),
			"with too few samples for an interval"
	}
	return w.Reason, w.Reason
}

// Sum says of the warnings of so many trials, as Gather sums them up, how many each
// is about, in one line; "" if there are none.
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

func (w Warning) process() string {
	text := "its number is not known here"
	if w.PID > 0 {
		text = fmt.Sprintf("process %d", w.PID)
	}
	if w.Bytes > 0 {
		text += fmt.Sprintf(", with %.1f GiB", float64(w.Bytes)/(1<<30))
	}
	return text
}

func Lines(warnings []Warning) []string {
	return lists.Of(warnings, Warning.String)
}

// Warnings says what makes the timing doubtful: samples that are few, or far apart.
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

// same reports whether two warnings are one, but for the extent.
func (w Warning) same(other Warning) bool {
	return w.Kind == other.Kind && w.Reason == other.Reason && w.PID == other.PID
}

// with is the greater extent of two warnings that are the same.
func (w Warning) with(other Warning) Warning {
	w.LowMHz, w.HighMHz = least(w.LowMHz, other.LowMHz), max(w.HighMHz, other.HighMHz)
	w.Bytes, w.Noise, w.Samples = max(w.Bytes, other.Bytes), max(w.Noise, other.Noise), least(w.Samples, other.Samples)
	w.Trials += other.Trials
	return w
}

// least is the lesser of two numbers of which zero is unknown.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// merge adds warnings to others; those that are the same become one.
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

// Gather sums up what is doubtful about the trials of a search, by kind: in how many of them, and to what extent.
// Those that racing dropped have few samples on purpose, and their spread says little.
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
