package reports

import (
	"fmt"
	"strings"

	"autotune/internal/output"
	"autotune/tuner"
)

// Told is what there is to say of a search, in the words of SearchTable, for other forms of it.
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
	Warnings   []string
	Unit       Unit
}

// Compared is a row of the comparison: the winner first, the roofline last.
type Compared struct {
	Name           string
	MS             float64
	Speedup        float64 // of the winner over it; 0: it is the winner, or the roofline
	Time, Times    string  // the time and the speedup in words
	Bytes, Compute string  // GB/s and GFLOP/s; "": not known
}

// Tell says it of a document. d may be empty.
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
	row := func(name string, ms, speedup float64) {
		c := Compared{Name: output.Line(name), MS: ms, Speedup: speedup, Time: t.Unit.Format(ms)}
		if speedup > 0 {
			c.Times = formatSpeedup(speedup)
		}
		if b.Roofline.FloorMS > 0 {
			c.Bytes = perSecond(b.Roofline.Bytes, ms)
		}
		if b.Roofline.FloorMS > 0 && b.Roofline.Flops > 0 {
			c.Compute = perSecond(b.Roofline.Flops, ms)
		}
		t.Compared = append(t.Compared, c)
	}
	row("winner", b.Time.Median, 0)
	for _, name := range b.baselineNames() {
		base := b.Baselines[name]
		row(name.title(), base.TimeMS, base.Speedup)
		if between := base.SpeedupCI95; between[0] > 0 {
			t.Compared[len(t.Compared)-1].Times += fmt.Sprintf(" (%s to %s)", formatSpeedup(between[0]), formatSpeedup(between[1]))
		}
	}
	if b.Roofline.FloorMS > 0 {
		row("roofline", b.Roofline.FloorMS, 0)
		t.Roofline = b.rooflineText()
	}
	return t
}

// harmless makes a line of each text, whatever the names in it hold.
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

// PerMS is how many of the unit a millisecond has.
func (u Unit) PerMS() float64 { return u.perMS }

// Name is what the unit is called.
func (u Unit) Name() string { return u.name }
