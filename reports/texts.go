package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
)

// Details are what a search says beyond its best-config document.
type Details struct {
	Lead     tuner.Lead // before the finals
	Failures []Failure
}

// Texts are what a document says to people, in one line each, for tables, plots and pages.
type Texts struct {
	Title      string // "conv2d 16x16x1024x1024"
	Parameters string
	Setting    string // which device, when, under which conditions
	Device     string // with its driver and compiler
	Time       string // the winner's, with its interval
	Finals     string // what they changed
	Trials     string
	Search     string // how it went, and why it ended
	Start      string // the problems whose winners were tried first
	Roofline   string
	Peaks      string     // what the device reached in other kinds of work
	Compared   []Compared // the winner first, the roofline last
	Outputs    []string   // whose outputs agree with the winner's
	Warnings   []string
	Unit       Unit
}

// TextsOf makes the texts of a document. d may be empty.
func TextsOf(b bestconfig.Document, d Details) Texts {
	t := Texts{
		Title: titleOf(b), Parameters: strings.Join(parametersOf(b), " "), Setting: settingOf(b), Device: deviceText(b),
		Trials: trialsText(b), Search: searchText(b), Start: startText(b.Search.StartedFrom), Unit: unitOf(b),
		Warnings: slices.Clone(b.Warnings), Peaks: peaksText(b.Roofline.Peaks),
	}
	if doubts := trial.Sum(b.Doubts, b.Trials.Total); doubts != "" {
		t.Warnings = append(t.Warnings, doubts)
	}
	if b.Found() {
		t.Time, t.Finals, t.Compared, t.Outputs = timeText(b), finalsText(b, d.Lead), comparedIn(b), outputsTexts(b)
		if r := b.Roofline; r.FloorMS > 0 {
			t.Roofline = fmt.Sprintf("%s of the roofline reached: %s at the measured copy bandwidth of %s",
				formatPercent(r.Share), formatBytes(r.Bytes), formatBandwidth(r.CopyBandwidth))
		}
	}
	for _, text := range []*string{
		&t.Title, &t.Parameters, &t.Setting, &t.Device, &t.Finals, &t.Trials, &t.Search, &t.Start,
	} {
		*text = output.Line(*text)
	}
	for i, warning := range t.Warnings {
		t.Warnings[i] = output.Line(warning)
	}
	return t
}

// Compared is a row of the comparison.
type Compared struct {
	Name           string
	MS             float64
	Speedup        float64 // of the winner over it; 0: it is the winner, or the roofline
	Level          bool    // a line in charts of a search: the untuned default or the roofline
	Time, Times    string  // the time and the speedup in words
	Between        string  // the speedup's interval in words; "": the two did not take turns
	Bytes, Compute string  // GB/s and GFLOP/s; "": not known
}

// comparedIn are the rows of the comparison, the winner first and the roofline last, as far as they are known.
func comparedIn(b bestconfig.Document) (rows []Compared) {
	u, r := unitOf(b), b.Roofline
	add := func(name string, ms float64, base tuner.Baseline, level bool) {
		c := Compared{Name: output.Line(name), MS: ms, Speedup: base.Speedup, Level: level, Time: u.Format(ms)}
		if base.Speedup > 0 {
			c.Times = bestconfig.FormatSpeedup(base.Speedup)
		}
		if between := base.CI95; between[0] > 0 {
			c.Between = bestconfig.FormatSpeedup(between[0]) + " to " + bestconfig.FormatSpeedup(between[1])
		}
		if r.FloorMS > 0 {
			c.Bytes = perSecond(r.Bytes, ms)
			if r.Flops > 0 {
				c.Compute = perSecond(r.Flops, ms)
			}
		}
		rows = append(rows, c)
	}
	if b.Found() {
		add("winner", b.Time.Median, tuner.Baseline{}, false)
	}
	for _, name := range bestconfig.Names(b) {
		title, _ := bestconfig.Titles(name)
		add(title, b.Baselines[name].TimeMS, b.Baselines[name], name == bestconfig.Default)
	}
	if r.FloorMS > 0 {
		add("roofline", r.FloorMS, tuner.Baseline{}, true)
	}
	return rows
}

// outputsTexts say whose outputs agree with the winner's, and whose differ.
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

// deviceText is the origin and, where times were measured now, with what.
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
	return fmt.Sprintf("%s, 95 %% interval %s, %d samples", u.Format(b.Time.Median), between(u, b.Time), b.Time.Samples)
}

func between(u Unit, t trial.Timing) string {
	return u.Format(t.CI95[0]) + " to " + u.Format(t.CI95[1])
}

// trialsText counts the trials, and each status.
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

// statusWords count the trials by status: "80 ok", "3 compile_error".
func statusWords(t tuner.Counts) []string {
	var words []string
	for _, status := range trial.Statuses {
		if n := t.ByStatus[status]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, status))
		}
	}
	return words
}

// searchText says how much was evaluated now, and what was known.
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

// startText names the problem whose winner was tried first.
func startText(from []string) string {
	if len(from) == 0 {
		return ""
	}
	operator, rest, _ := strings.Cut(from[0], " ")
	shape, _, _ := strings.Cut(rest, " ")
	text := fmt.Sprintf("from the winners of %s %s", operator, shape)
	if _, conditions, other := strings.Cut(rest, " ("); other {
		text += " (" + conditions
	}
	if len(from) > 1 {
		text += fmt.Sprintf(" and %d more", len(from)-1)
	}
	return text
}

// movedBy is by how much a median must move in the finals to get a line.
const movedBy = 0.01

// finalsText says what the finals changed.
func finalsText(b bestconfig.Document, l tuner.Lead) string {
	if l.SearchMS <= 0 || l.Leader.Template == "" {
		return ""
	}
	before, after := unitOf(b).Format(l.SearchMS), unitOf(b).Format(l.FinalMS)
	switch {
	case l.FinalMS == 0:
		return fmt.Sprintf("%s led the search with %s and failed when it was timed again", l.Leader, before)
	case l.Leader.Key() != b.Configuration.Key():
		return fmt.Sprintf("%s led the search with %s, and was %s when timed again", l.Leader, before, after)
	case math.Abs(l.FinalMS/l.SearchMS-1) > movedBy:
		return fmt.Sprintf("it led the search with %s; timed again, it takes %s", before, after)
	}
	return ""
}

// endings are why searches ended: in a table, and after "because".
var endings = map[tuner.Stop][2]string{
	tuner.Satisfied:   {"nothing left to gain", "little is left to gain"},
	tuner.AtRoofline:  {"at the roofline", "it is at the roofline"},
	tuner.TimeSpent:   {"the time was up", "the time was up"},
	tuner.BudgetSpent: {"the budget was spent", "the budget was spent"},
	tuner.Exhausted:   {"", "every valid configuration was tried"},
	tuner.StrategyEnd: {"", "the strategy had no more to propose"},
	tuner.CacheFailed: {"", "the cache failed"},
	tuner.Interrupted: {"", "it was interrupted"},
}

// endText says why a search ended that estimated what is left to gain, and the estimate.
func endText(b bestconfig.Document) string {
	s := b.Search
	why := endings[s.Stop][0]
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

// Verdict is the outcome in one sentence: the winner, its interval, its share of the
// roofline, and why the search ended.
func Verdict(b bestconfig.Document) string {
	if !b.Found() {
		return "No variant was valid."
	}
	u := unitOf(b)
	text := output.Line(b.Template) + " wins with " + u.Format(b.Time.Median)
	if b.Time.Samples > 1 {
		text += " (95 % interval " + between(u, b.Time) + ")"
	}
	if b.Roofline.Share > 0 {
		text += ", " + formatPercent(b.Roofline.Share) + " of the roofline"
	}
	if why := endings[b.Search.Stop][1]; why != "" {
		text += "; the search ended because " + why
		if o := b.Search.Outlook; o != nil {
			gain, chance := formatPercent(o.Target-1), formatChance(o.Chance)
			text += ": a gain of more than " + gain + " has a chance of " + chance
		}
	}
	return text + "."
}

// peaksText lists what was measured: "L2 5.60 TB/s, fp32 61.2 TFLOP/s"; "": nothing was.
func peaksText(peaks map[string]float64) string {
	var words []string
	for _, n := range device.PeakNames {
		if rate := peaks[n.Kind]; rate > 0 && n.Kind == device.PeakL2 {
			words = append(words, n.Name+" "+formatBandwidth(rate))
		} else if rate > 0 {
			words = append(words, fmt.Sprintf("%s %s TFLOP/s", n.Name, significant(rate/1e12, 3)))
		}
	}
	return strings.Join(words, ", ")
}

// Since says what changed since an earlier search of the same problem on the same device.
func Since(now, was bestconfig.Document) string {
	u := UnitOf(was.Time.Median)
	times := fmt.Sprintf("%s, was %s", u.Format(now.Time.Median), u.Format(was.Time.Median))
	text := "Since " + day(was.RecordedAt) + " "
	switch change := 100 * (now.Time.Median/was.Time.Median - 1); {
	case change > 0 && !now.Time.Reaches(was.Time):
		text += fmt.Sprintf("the winner takes %.2g %% longer (%s), beyond both intervals", change, times)
	case change < 0 && !was.Time.Reaches(now.Time):
		text += fmt.Sprintf("the winner takes %.2g %% less (%s), beyond both intervals", -change, times)
	default:
		text += fmt.Sprintf("nothing changed that the intervals can tell (%s)", times)
	}
	if was.Key() != now.Key() {
		text += "; it was " + was.Configuration.String()
	}
	for _, version := range [][3]string{
		{"driver", was.Device.Driver, now.Device.Driver}, {"compiler", was.Device.Compiler, now.Device.Compiler},
	} {
		if version[1] != version[2] && version[1] != "" && version[2] != "" {
			text += fmt.Sprintf("; the %s was %s", version[0], version[1])
		}
	}
	then, today := was.KernelDigest, now.KernelDigest
	if then != today && was.Key() == now.Key() && then != "" && today != "" {
		text += "; its kernel was edited"
	}
	return text + "."
}
