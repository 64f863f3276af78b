package reports

import (
	"fmt"
	"slices"
	"strings"

	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
)

type compared struct {
	name           string
	ms             float64
	speedup        float64 // the winner's speedup; 0 for winner and roofline
	level          bool    // drawn as a line in charts: default or roofline
	roofline       bool
	time, times    string // the time and the speedup in words
	between        string // the speedup's interval as text, "" if not timed in turns
	bytes, compute string // GB/s and GFLOP/s, "" if not known
}

// comparedIn returns the rows of the comparison whose times are known, the winner first and the roofline last.
func comparedIn(b bestconfig.Document) (rows []compared) {
	u, r := unitOf(b), b.Roofline
	add := func(name string, ms float64, base tuner.Baseline) *compared {
		c := compared{name: output.Line(name), ms: ms, speedup: base.Speedup, time: u.Format(ms)}
		if base.Speedup > 0 {
			c.times = bestconfig.FormatSpeedup(base.Speedup)
		}
		if between := base.CI95; between[0] > 0 {
			c.between = bestconfig.FormatSpeedup(between[0]) + " to " + bestconfig.FormatSpeedup(between[1])
		}
		if r.FloorMS > 0 {
			c.bytes = perSecond(r.Bytes, ms)
			if r.Flops > 0 {
				c.compute = perSecond(r.Flops, ms)
			}
		}
		rows = append(rows, c)
		return &rows[len(rows)-1]
	}
	if b.Found() {
		add("winner", b.Time.Median, tuner.Baseline{})
	}
	for _, name := range bestconfig.Names(b) {
		title, _ := bestconfig.Titles(name)
		add(title, b.Baselines[name].TimeMS, b.Baselines[name]).level = name == bestconfig.Default
	}
	if r.FloorMS > 0 {
		row := add("roofline", r.FloorMS, tuner.Baseline{})
		row.level, row.roofline = true, true
	}
	return rows
}

// outputsTexts names the baselines whose outputs agree with the winner's, and those whose outputs differ.
func outputsTexts(b bestconfig.Document) (texts []string) {
	words, tolerance := map[bool][]string{}, ""
	for _, name := range bestconfig.Names(b) {
		if o := b.Baselines[name].Outputs; o != nil {
			title, _ := bestconfig.Titles(name)
			words[o.Agree()] = append(words[o.Agree()], fmt.Sprintf("%s with a largest error of %.2g", title, o.MaxAbsError))
			tolerance = o.Tolerance()
		}
	}
	for _, agree := range []bool{true, false} {
		if list := strings.Join(words[agree], ", "); list != "" {
			verb := map[bool]string{true: "agree with", false: "differ from"}[agree]
			texts = append(texts, fmt.Sprintf("outputs %s the winner's: %s; the tolerance is %s", verb, list, tolerance))
		}
	}
	return texts
}

func rooflineText(r bestconfig.Roofline) string {
	if r.FloorMS <= 0 {
		return ""
	}
	return fmt.Sprintf("%s of the roofline reached: %s at the measured copy bandwidth of %s", formatPercent(r.Share),
		formatBytes(r.Bytes), formatBandwidth(r.CopyBandwidth))
}

func warningsOf(b bestconfig.Document) []string {
	if doubts := trial.Sum(b.Doubts, b.Trials.Total); doubts != "" {
		return append(slices.Clone(b.Warnings), doubts)
	}
	return b.Warnings
}

func deviceText(b bestconfig.Document) string {
	if !b.Device.Kind.Properties().Measures {
		return originOf(b)
	}
	driver := b.Device.Driver
	if driver != "" {
		driver = "driver " + driver
	}
	return joined(", ", b.Device.Name, driver, b.Device.Compiler)
}

func timeText(b bestconfig.Document) string {
	u := unitOf(b)
	if b.Time.Samples < 2 {
		return u.Format(b.Time.Median) + ", one sample"
	}
	return fmt.Sprintf("%s, 95 %% interval %s to %s, %d samples", u.Format(b.Time.Median), u.Format(b.Time.CI95[0]),
		u.Format(b.Time.CI95[1]), b.Time.Samples)
}

func trialsText(b bestconfig.Document) string {
	text := fmt.Sprint(b.Trials.Total)
	if valid := b.Search.ValidConfigurations; valid > 0 {
		text += fmt.Sprintf(" of %d valid configurations", valid)
	}
	if counts := statusWords(b.Trials); len(counts) > 0 {
		text += ": " + strings.Join(counts, ", ")
	}
	return text
}

// statusWords counts the trials of each status, for example "80 ok" and "3 compile_error".
func statusWords(t tuner.Counts) []string {
	var words []string
	for _, status := range trial.Statuses {
		if n := t.ByStatus[status]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, status))
		}
	}
	return words
}

// searchText says how many variants this search evaluated, and how many results came from the cache.
func searchText(b bestconfig.Document) string {
	s := b.Search
	text := fmt.Sprintf("%d evaluated in %s s", s.Evaluations, significant(s.Seconds, 3))
	switch {
	case s.Evaluations == 0 && s.Resumed == 0:
		return s.Strategy
	case s.Evaluations > 0 && s.Resumed > 0:
		text += fmt.Sprintf(", %d known from the cache", s.Resumed)
	case s.Evaluations == 0:
		text = fmt.Sprintf("nothing left: all %d configurations were known from the cache", s.Resumed)
		if s.Resumed == 1 {
			text = "nothing left: its one configuration was known from the cache"
		}
		if s.Outlook != nil {
			text = fmt.Sprintf("%d known from the cache", s.Resumed)
		}
		if s.Stop == tuner.BudgetSpent {
			text += "; a bigger --budget goes on"
		}
	}
	if unknown := b.Trials.Total - s.Evaluations - s.Resumed; unknown > 0 && b.Recording != nil {
		text += fmt.Sprintf("; the recording lacks %d others that the strategy asked for", unknown)
	}
	return joined(", ", s.Strategy, text+endText(b))
}

// endings describes why a search ended, for searches that estimate what is left to gain.
var endings = map[tuner.Stop]string{
	tuner.Satisfied: "nothing left to gain", tuner.AtRoofline: "at the roofline", tuner.TimeSpent: "the time was up",
	tuner.BudgetSpent: "the budget was spent",
}

// endText says why a search ended and what it estimated to be left to gain, or "" if it made no estimate.
func endText(b bestconfig.Document) string {
	s := b.Search
	why := endings[s.Stop]
	if s.Outlook == nil || why == "" {
		return ""
	}
	text := "; " + why + ": "
	if s.Stop == tuner.AtRoofline {
		text += formatPercent(b.Roofline.Share) + " reached, and "
	}
	gain := 100 * (s.Outlook.Target - 1)
	text += fmt.Sprintf("the chance of gaining more than %.3g %% is %s", gain, formatChance(s.Outlook.Chance))
	if s.Evaluations == 0 {
		text += "; --target 0 goes on"
	}
	return text
}
