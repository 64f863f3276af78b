package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/tuner/compile"
	"autotune/tuner/trial"
)

// The shares of the measured copy bandwidth from which on memory is the limit, or one of several.
const (
	memoryBound = 0.9
	memoryNear  = 0.5
)

// How many items of a kind a sentence names.
const (
	shownCosts = 3
	shownNext  = 3
	shownTied  = 4
)

// sentences tell a colleague what matters, the most important first.
func (e Explanation) sentences() []string {
	var list []string
	for _, tell := range []func() string{e.limit, e.rival, e.room, e.spills, e.madeOf, e.counted, e.dependsOn, e.pair, e.costs, e.beyond, e.faster, e.tied, e.failed, e.next} {
		if text := tell(); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// limit says how far from the device's limits the winner is.
func (e Explanation) limit() string {
	reached := fmt.Sprintf("It reaches %.3g %% of the measured copy bandwidth", 100*e.CopyShare)
	switch {
	case e.CopyShare <= 0 && e.GFLOPS <= 0:
		return ""
	case e.CopyShare <= 0:
		return fmt.Sprintf("It computes %.4g GFLOP/s; the copy bandwidth was not measured.", e.GFLOPS)
	case e.CopyShare >= 0.98:
		return reached + ": memory is its limit, and little is left to gain."
	case e.CopyShare >= memoryBound:
		return reached + ": memory is its limit."
	case e.CopyShare >= memoryNear:
		return reached + ": memory is near, and something else takes time, too." + e.arithmetic()
	case e.GFLOPS >= 1e5:
		return fmt.Sprintf("%s: memory is not its limit. It computes %.3g TFLOP/s.", reached, e.GFLOPS/1e3) + e.arithmetic()
	}
	return reached + ": memory is not its limit." + e.arithmetic()
}

// arithmetic says how near the peak of its arithmetic the winner is, if that matters.
func (e Explanation) arithmetic() string {
	if e.PeakShare < 0.05 {
		return ""
	}
	return fmt.Sprintf(" It reaches %.3g %% of the device's measured peak of %s.", 100*e.PeakShare, e.PeakOf)
}

// rival says by how much the winner's template leads.
func (e Explanation) rival() string {
	if len(e.Rivals) == 0 {
		return ""
	}
	next := e.Rivals[0]
	if next.Ratio < 1.01 {
		return fmt.Sprintf("The template %s is as fast within 1 %%, at %s.", next.Template, strings.Join(next.Values.Words(), " "))
	}
	return fmt.Sprintf("Of %s the next best is %s, which takes %.3g times as long at its best.", output.Count(len(e.Rivals)+1, "template"), next.Template, next.Ratio)
}

// room says how many blocks a multiprocessor has room for, and why no more.
func (e Explanation) room() string {
	b := e.Block
	limit, by := b.ByRegisters, "registers"
	if b.ByShared > 0 && (limit == 0 || b.ByShared < limit) {
		limit, by = b.ByShared, "shared memory"
	}
	if limit == 0 || b.Threads == 0 {
		return ""
	}
	text := fmt.Sprintf("A multiprocessor has %s for %s of %d threads", by, output.Count(limit, "block"), b.Threads)
	if e.Resources.Occupancy > 0 {
		text += fmt.Sprintf("; the occupancy is %.3g %%", 100*e.Resources.Occupancy)
	}
	return text + "."
}

func (e Explanation) spills() string {
	if e.Resources.LocalBytes == 0 {
		return ""
	}
	return fmt.Sprintf("Each thread keeps %s in local memory, since its %d registers do not hold all.", output.Count(e.Resources.LocalBytes, "byte"), e.Resources.Registers)
}

// shownKinds is how many kinds of instructions are told.
const shownKinds = 4

// madeOf says which instructions the code has.
func (e Explanation) madeOf() string {
	m := e.Mix
	if m == nil || m.Instructions == 0 {
		return ""
	}
	text := fmt.Sprintf("Its code has %s", output.Count(m.Instructions, "instruction"))
	var words []string
	for i, p := range m.Kinds {
		if i < shownKinds || p.Kind == compile.TensorCores || p.Kind == compile.LocalMemory {
			words = append(words, fmt.Sprintf("%.2g %% %s", 100*float64(p.Count)/float64(m.Instructions), p.Kind))
		}
	}
	switch {
	case len(words) > 0:
		text += ": " + strings.Join(words, ", ")
	case m.Together > 0:
		text += fmt.Sprintf("; the lanes of a warp execute %d of them together", m.Together)
	}
	return text + fmt.Sprintf(" (by %s).", m.By)
}

// dependsOn names the tunables that the times go with.
func (e Explanation) dependsOn() string {
	sure := slices.DeleteFunc(slices.Clone(e.Tunables), func(t Tunable) bool { return !t.Share.Sure() || t.Share.Part < 0.02 })
	slices.SortStableFunc(sure, func(a, b Tunable) int { return cmp.Compare(b.Share.Part, a.Share.Part) })
	words := lists.Of(sure[:min(len(sure), 2)], func(t Tunable) string { return fmt.Sprintf("%s (%s)", t.Name, t.Share) })
	switch {
	case len(words) == 0 && e.Right >= leastTrials:
		return fmt.Sprintf("In the %d trials of this template no single tunable explains the times.", e.Right)
	case len(words) == 0:
		return ""
	}
	return fmt.Sprintf("Over %s of this template the time goes most with %s.", output.Count(e.Right, "trial"), strings.Join(words, " and "))
}

// String is the part with its interval: "62 %, 50 to 74 %".
func (s Share) String() string {
	return fmt.Sprintf("%.0f %%, %.0f to %.0f %%", 100*s.Part, 100*s.CI95[0], 100*s.CI95[1])
}

func (e Explanation) pair() string {
	if len(e.Pairs) == 0 {
		return ""
	}
	p := e.Pairs[0]
	return fmt.Sprintf("%s and %s must fit each other: together they explain more than their sum (%s).", p.Names[0], p.Names[1], p.Share)
}

// costs names the changes of one tunable that cost most.
func (e Explanation) costs() string {
	type cost struct {
		text  string
		ratio float64
	}
	var all []cost
	for _, t := range e.Tunables {
		nearest := cost{}
		for _, n := range t.Neighbours {
			if n.Status == trial.OK && !n.Tied() && n.Ratio > 1 && (nearest.ratio == 0 || n.Ratio < nearest.ratio) {
				nearest = cost{fmt.Sprintf("%s=%s instead of %s (%s)", t.Name, n.Value, t.Value, more(n.Ratio)), n.Ratio}
			}
		}
		if nearest.ratio > 0 {
			all = append(all, nearest)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.SortStableFunc(all, func(a, b cost) int { return cmp.Compare(b.ratio, a.ratio) })
	words := lists.Of(all[:min(len(all), shownCosts)], func(c cost) string { return c.text })
	return "Changed alone to the next best value, these cost most: " + strings.Join(words, ", ") + "."
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

// tied names the changes that make no difference.
func (e Explanation) tied() string {
	return e.named("These make no difference that was measured: ", shownTied, func(t Tunable) string {
		for _, n := range t.Neighbours {
			if n.Tied() {
				return t.Name + "=" + n.Value
			}
		}
		return ""
	})
}

// failed names the changes that do not work.
func (e Explanation) failed() string {
	return e.named("These fail: ", shownCosts, func(t Tunable) string {
		for _, n := range t.Neighbours {
			if n.Status != trial.OK && n.Status != trial.Pruned {
				return fmt.Sprintf("%s=%s (%s)", t.Name, n.Value, n.Status)
			}
		}
		return ""
	})
}

// next names untried values that are valid with the winner's others, first those on which the time
// depends most.
func (e Explanation) next() string {
	sorted := e
	sorted.Tunables = slices.Clone(e.Tunables)
	slices.SortStableFunc(sorted.Tunables, func(a, b Tunable) int { return cmp.Compare(b.Share.part(), a.Share.part()) })
	return sorted.named("Not tried beside it, and next: ", shownNext, func(t Tunable) string {
		if len(t.Untried) == 0 {
			return ""
		}
		return t.Name + "=" + t.Untried[0]
	})
}

func (s *Share) part() float64 {
	if s == nil {
		return 0
	}
	return s.Part
}

// named is a list of what some tunables have to say.
func (e Explanation) named(before string, most int, of func(Tunable) string) string {
	var words []string
	for _, t := range e.Tunables {
		if text := of(t); text != "" {
			words = append(words, text)
		}
	}
	if len(words) == 0 {
		return ""
	}
	rest := ""
	if len(words) > most {
		rest = fmt.Sprintf(" and %d more", len(words)-most)
		words = words[:most]
	}
	return before + strings.Join(words, ", ") + rest + "."
}
