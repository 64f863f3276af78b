package reports

import (
	"strings"

	"autotune/internal/output"
	"autotune/tuner"
)

// Told are the texts of SearchTable, for other forms of a search's result.
type Told struct {
	Title      string // "conv2d 16x16x1024x1024"
	Parameters string
	Setting    string // which device, when, under which conditions
	Device     string // with its driver and compiler
	Time       string // the winner's, with its interval
	Finals     string
	Trials     string
	Search     string // how it went, and why it ended
	Start      string
	Roofline   string
	Compared   []Compared
	Outputs    []string // whose outputs agree with the winner's
	Warnings   []string
	Unit       Unit
}

// Compared is a row of the comparison: the winner first, the roofline last.
type Compared struct {
	Name           string
	MS             float64
	Speedup        float64 // of the winner over it; 0: it is the winner, or the roofline
	Time, Times    string  // the time and the speedup in words
	Between        string  // the speedup's interval in words; "": the two did not take turns
	Bytes, Compute string  // GB/s and GFLOP/s; "": not known
}

// Tell makes the texts of a document. d may be empty.
func (b BestConfig) Tell(d Details) (t Told) {
	t = Told{
		Title: b.title(), Parameters: strings.Join(b.parameterWords(), " "), Setting: b.setting(), Device: b.deviceText(),
		Trials: strings.Join(trialsWords(b.Trials, b.Search.ValidConfigurations), " "), Search: b.searchText(), Start: b.startText(),
		Warnings: b.warningLines(), Unit: b.unit(),
	}
	defer t.harmless()
	if !b.Found() {
		return t
	}
	t.Time, t.Finals = b.timeText(), b.finalsText(d.Lead)
	timed, roofline := b.compared()
	for i, c := range timed {
		if c.Between != "" {
			timed[i].Times += " (" + c.Between + ")"
		}
	}
	t.Compared, t.Outputs = append(timed, roofline...), b.outputsTexts()
	if len(roofline) > 0 {
		t.Roofline = b.rooflineText()
	}
	return t
}

// compared are the rows of the comparison: what was timed, the winner first, and the roofline, where
// it is known.
func (b BestConfig) compared() (timed, roofline []Compared) {
	u, r := b.unit(), b.Roofline
	row := func(name string, ms, speedup float64) Compared {
		c := Compared{Name: output.Line(name), MS: ms, Speedup: speedup, Time: u.Format(ms)}
		if speedup > 0 {
			c.Times = formatSpeedup(speedup)
		}
		if r.FloorMS > 0 {
			c.Bytes = perSecond(r.Bytes, ms)
		}
		if r.FloorMS > 0 && r.Flops > 0 {
			c.Compute = perSecond(r.Flops, ms)
		}
		return c
	}
	timed = append(timed, row("winner", b.Time.Median, 0))
	for _, name := range b.baselineNames() {
		base := b.Baselines[name]
		c := row(name.title(), base.TimeMS, base.Speedup)
		if between := base.SpeedupCI95; between[0] > 0 {
			c.Between = formatSpeedup(between[0]) + " to " + formatSpeedup(between[1])
		}
		timed = append(timed, c)
	}
	if r.FloorMS > 0 {
		roofline = append(roofline, row("roofline", r.FloorMS, 0))
	}
	return timed, roofline
}

// harmless makes each text a single line without control characters.
func (t *Told) harmless() {
	for _, text := range []*string{&t.Title, &t.Parameters, &t.Setting, &t.Device, &t.Finals, &t.Trials, &t.Search, &t.Start} {
		*text = output.Line(*text)
	}
	for i, warning := range t.Warnings {
		t.Warnings[i] = output.Line(warning)
	}
}

// reasons are why searches ended, after "because".
var reasons = map[tuner.Stop]string{
	tuner.Exhausted: "every valid configuration was tried", tuner.BudgetSpent: "the budget was spent", tuner.TimeSpent: "the time was up",
	tuner.StrategyEnd: "the strategy had no more to propose", tuner.Satisfied: "little is left to gain", tuner.AtRoofline: "it is at the roofline",
	tuner.CacheFailed: "the cache failed", tuner.Interrupted: "it was interrupted",
}

// Verdict is the outcome in one sentence: the winner, its interval, its share of the
// roofline, and why the search ended.
func (b BestConfig) Verdict() string {
	if !b.Found() {
		return "No variant was valid."
	}
	u := b.unit()
	text := output.Line(b.Template) + " wins with " + u.Format(b.Time.Median)
	if b.Time.Samples > 1 {
		text += " (95 % interval " + u.Format(b.Time.CI95[0]) + " to " + u.Format(b.Time.CI95[1]) + ")"
	}
	if b.Roofline.Share > 0 {
		text += ", " + formatPercent(b.Roofline.Share) + " of the roofline"
	}
	if why := reasons[b.Search.Stop]; why != "" {
		text += "; the search ended because " + why
		if o := b.Search.Outlook; o != nil {
			text += ": a gain of more than " + formatPercent(o.Target-1) + " has a chance of " + percent(o.Chance)
		}
	}
	return text + "."
}
