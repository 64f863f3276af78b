package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"autotune/device/trial"
	"autotune/internal/output"
)

// The shares of the measured copy bandwidth from which on memory is the limit, or one of several.
const (
	memoryBound = 0.9
	memoryNear  = 0.5
)

// shownCosts is how many tunables the sentence about them names.
const shownCosts = 3

// sentences say how near the device's limits the winner is, what limits its occupancy, and which of
// its tunables matter most.
func (e Explanation) sentences() []string {
	all := []string{e.limit(), e.room(), e.spills(), e.costs()}
	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}

func (e Explanation) limit() string {
	reached := fmt.Sprintf("It reaches %.3g %% of the measured copy bandwidth", 100*e.CopyShare)
	switch {
	case e.CopyShare <= 0 && e.GFLOPS <= 0:
		return ""
	case e.CopyShare <= 0:
		return fmt.Sprintf("It computes %.4g GFLOP/s; the copy bandwidth was not measured.", e.GFLOPS)
	case e.CopyShare >= memoryBound:
		return reached + ": it is limited by memory."
	case e.CopyShare >= memoryNear:
		return reached + ": it is close to memory-bound, but not limited by memory alone." + e.arithmetic()
	}
	return fmt.Sprintf("%s and %.4g GFLOP/s: it is not limited by memory.", reached, e.GFLOPS) + e.arithmetic()
}

// arithmetic says how near the peak of its arithmetic the winner is, if that matters.
func (e Explanation) arithmetic() string {
	if e.PeakShare < 0.05 {
		return ""
	}
	return fmt.Sprintf(" It reaches %.3g %% of the device's measured peak of %s.", 100*e.PeakShare, e.PeakOf)
}

// room says how many blocks a multiprocessor holds, and what limits them.
func (e Explanation) room() string {
	b := e.Block
	limit, by := b.ByRegisters, "Registers limit"
	if b.ByShared > 0 && (limit == 0 || b.ByShared < limit) {
		limit, by = b.ByShared, "Shared memory limits"
	}
	if limit == 0 || b.Threads == 0 {
		return ""
	}
	text := fmt.Sprintf("%s each multiprocessor to %s of %d threads", by, output.Count(limit, "block"), b.Threads)
	if e.Resources.Occupancy > 0 {
		text += fmt.Sprintf("; the occupancy is %.3g %%", 100*e.Resources.Occupancy)
	}
	return text + "."
}

func (e Explanation) spills() string {
	if e.Resources.LocalBytes == 0 {
		return ""
	}
	return fmt.Sprintf("Each thread spills %s to local memory, because its %d registers do not hold all of its values.", output.Count(e.Resources.LocalBytes, "byte"), e.Resources.Registers)
}

// costs names the changes of one tunable that cost most.
func (e Explanation) costs() string {
	type change struct {
		text  string
		ratio float64
	}
	var all []change
	for _, t := range e.Tunables {
		least := change{}
		for _, n := range t.Neighbours {
			if n.Status == trial.OK && !n.Tied() && n.Ratio > 1 && (least.ratio == 0 || n.Ratio < least.ratio) {
				least = change{fmt.Sprintf("%s=%s instead of %s (%s)", t.Name, n.Value, t.Value, more(n.Ratio)), n.Ratio}
			}
		}
		if least.ratio > 0 {
			all = append(all, least)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(b.ratio, a.ratio) })
	var words []string
	for _, c := range all[:min(len(all), shownCosts)] {
		words = append(words, c.text)
	}
	return "Changed alone to the next best value, these tunables cost most: " + strings.Join(words, ", ") + "."
}

// more is how much longer something takes.
func more(ratio float64) string {
	if ratio >= 2 {
		return fmt.Sprintf("%.3gx", ratio)
	}
	return fmt.Sprintf("%+.2g %%", 100*(ratio-1))
}

// String is the change beside the winner, in a word: "as fast", "+2.6 %", "3.1x", or how it
// failed.
func (c Cost) String() string {
	switch {
	case c.Status != trial.OK:
		return string(c.Status)
	case c.Tied():
		return "as fast"
	}
	return more(c.Ratio)
}
