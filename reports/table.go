package reports

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"autotune/internal/output"
	"autotune/tuner"
	"autotune/tuner/final"
	"autotune/tuner/trial"
)

// tableWidth is what the table keeps to, so that it looks the same in a
// terminal, a pipe and a log.
const tableWidth = 80

// labelWidth is the column in which the table's contents begin.
const labelWidth = 12

// Details are what a search says beyond its best-config document.
type Details struct {
	Verbose  bool       // also where the time went
	Lead     tuner.Lead // before the finals
	Failures []Failure
}

// Table writes the document for people: the problem, the winner, its time
// against the baselines and the roofline, the trials and the warnings.
func Table(w io.Writer, b BestConfig) error { return SearchTable(w, b, Details{}) }

// SearchTable writes what a search ends with.
func SearchTable(w io.Writer, b BestConfig, d Details) error {
	t := &table{}
	t.words("problem", append([]string{b.title()}, b.parameterWords()...))
	t.text("device", b.deviceText())
	if b.Problem.MathBy != "" {
		t.text("math", b.Problem.Math+", "+b.Problem.MathBy)
	}
	t.blank()
	if b.Found() {
		t.winner(b, d.Lead)
		t.blank()
		t.comparison(b)
	} else {
		t.text("winner", "none: no variant was valid")
	}
	t.blank()
	t.words("trials", b.trialsWords())
	t.text("search", b.searchText())
	t.text("start", b.startText())
	if d.Verbose {
		t.spent(b.Search.Spent)
	}
	t.failures(d.Failures)
	for i, warning := range b.warningLines() {
		label := ""
		if i == 0 {
			t.blank()
			label = "warnings"
		}
		t.words(label, append([]string{"-"}, phrases(warning)...))
	}
	return t.write(w)
}

// warningLines are the warnings, and what there is to doubt about all trials.
func (b BestConfig) warningLines() []string {
	lines := slices.Clone(b.Warnings)
	if doubts := trial.Sum(b.Doubts, b.Trials.Total); doubts != "" {
		lines = append(lines, doubts)
	}
	return lines
}

// table is text of lines no longer than tableWidth, but for what cannot be broken.
type table struct{ lines strings.Builder }

func (t *table) blank() { t.lines.WriteByte('\n') }

// text writes a label and a text, wrapped; nothing where there is no text.
func (t *table) text(label, text string) { t.words(label, phrases(text)) }

// words writes a label and words, wrapped, under each other.
func (t *table) words(label string, words []string) { t.wrap(label, labelWidth, words) }

// wrap writes words, wrapped, behind a column of this width with a label.
func (t *table) wrap(label string, indent int, words []string) {
	for _, line := range wrapped(words, func(line string) bool { return indent+utf8.RuneCountInString(line) <= tableWidth }) {
		t.line("%-*s%s", indent, label, line)
		label = ""
	}
}

// line writes one line, whatever the names in it hold.
func (t *table) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	indent := len(text) - len(strings.TrimLeft(text, " "))
	t.lines.WriteString(strings.TrimRight(text[:indent]+output.Line(text), " "))
	t.lines.WriteByte('\n')
}

func (t *table) write(w io.Writer) error {
	_, err := io.WriteString(w, t.lines.String())
	return err
}

func (t *table) winner(b BestConfig, f tuner.Lead) {
	t.words("winner", append([]string{b.Template}, b.Values.Words()...))
	for _, line := range b.Launches.Lines() {
		t.text("launch", line)
	}
	t.text("time", b.timeText())
	t.text("timed", b.Conditions.Unusual())
	t.text("finals", b.finalsText(f))
	if b.EnergyMJ > 0 {
		t.text("energy", significant(b.EnergyMJ, 4)+" mJ a launch")
	}
	for _, name := range slices.Sorted(maps.Keys(b.Metrics)) {
		t.text("metric", name+" "+significant(b.Metrics[name], 4))
	}
	t.text("best by", strings.Replace(strings.Replace(b.Objective, "max:", "the most ", 1), "min:", "the least ", 1))
	t.text("error", fmt.Sprintf("%.3g at most, absolute, against the reference", b.MaxAbsError))
	t.ties(b)
	if b.Confirmation != nil {
		t.text("confirmed", "right and "+FormatMS(b.Confirmation.Time.Median)+" on a second worker, "+b.Confirmation.Worker)
	}
	if b.Gates != nil {
		t.text("gates", "passed: "+b.Gates.String())
	}
}

// shownTies is how many of those that tie with the winner a table names.
const shownTies = 3

// ties names those that the finals could not tell from the winner.
func (t *table) ties(b BestConfig) {
	tied := slices.DeleteFunc(slices.Clone(b.Ties), func(c final.Contender) bool { return c.Key() == b.Configuration.Key() })
	if len(tied) == 0 {
		return
	}
	t.text("ties", fmt.Sprintf("with %s: the finals cannot tell them apart; the winner needs the fewest resources", output.Count(len(tied), "other")))
	for _, c := range tied[:min(len(tied), shownTies)] {
		t.words("", append([]string{b.unit().Format(c.Time.Median), c.Template}, c.Values.Words()...))
	}
	if len(tied) > shownTies {
		t.text("", fmt.Sprintf("and %d more", len(tied)-shownTies))
	}
}

// comparison is the part with columns: what, its time, the winner's speedup and,
// where the roofline is known, the rates at which bytes and operations go by.
func (t *table) comparison(b BestConfig) {
	u, r := b.unit(), b.Roofline
	known := r.FloorMS > 0
	row := func(label, name, time, speedup, bytes, flops string) {
		if !known {
			bytes, flops = "", ""
		} else if r.Flops == 0 {
			flops = ""
		}
		t.line("%-*s%-20s%12s%11s%11s%11s", labelWidth, label, name, time, speedup, bytes, flops)
	}
	timed := func(name string, ms float64, speedup string) {
		row("", name, u.Format(ms), speedup, perSecond(r.Bytes, ms), perSecond(r.Flops, ms))
	}
	row("compared", "", "time", "speedup", "GB/s", "GFLOP/s")
	timed("winner", b.Time.Median, "")
	for _, name := range b.baselineNames() {
		timed(name.title(), b.Baselines[name].TimeMS, formatSpeedup(b.Baselines[name].Speedup))
	}
	if !known {
		return
	}
	timed("roofline", r.FloorMS, "")
	t.text("", fmt.Sprintf("%s of the roofline reached: %s at the measured copy bandwidth of %s",
		formatPercent(r.Share), formatBytes(r.Bytes), formatBandwidth(r.CopyBandwidth)))
}

// spent says where the search's time went, and what may be concluded.
func (t *table) spent(s *Spent) {
	if s == nil {
		return
	}
	seconds := func(x float64) string { return significant(x, 3) + " s" }
	t.text("spent", fmt.Sprintf("by the device: opening %s, verifying %s, timing %s, finals %s, waiting %s",
		seconds(s.Open), seconds(s.Verify), seconds(s.Measure), seconds(s.Finals), seconds(s.Wait)))
	t.text("", fmt.Sprintf("by the compilers, which work side by side: %s", seconds(s.Compile)))
	conclusion := "more processor cores to compile on would make the search faster"
	if device := s.Open + s.Verify + s.Measure + s.Finals; s.Wait < device/10 {
		conclusion = "the device was hardly ever without work: more compilers would not help"
	} else if s.Busy < 0.9 {
		conclusion = "neither was the limit all the time: a longer search uses both better"
	}
	t.text("", fmt.Sprintf("the device or all compilers were busy %s of the time; %s", formatPercent(s.Busy), conclusion))
}

// deviceText is the origin and, where times were measured now, with what.
func (b BestConfig) deviceText() string {
	if !b.Device.Kind.Properties().Measures {
		return b.origin()
	}
	text := b.Device.Name
	if b.Device.Driver != "" {
		text += ", driver " + b.Device.Driver
	}
	if b.Device.Compiler != "" {
		text += ", " + b.Device.Compiler
	}
	return text
}

func (b BestConfig) timeText() string {
	u := b.unit()
	if b.Time.Samples < 2 {
		return fmt.Sprintf("%s, one sample", u.Format(b.Time.Median))
	}
	return fmt.Sprintf("%s, 95 %% interval %s to %s, %d samples",
		u.Format(b.Time.Median), u.Format(b.Time.CI95[0]), u.Format(b.Time.CI95[1]), b.Time.Samples)
}

// trialsWords keeps each count and its status together.
func (b BestConfig) trialsWords() []string {
	text := fmt.Sprint(b.Trials.Total)
	if b.Search.ValidConfigurations > 0 {
		text += fmt.Sprintf(" of %d valid configurations", b.Search.ValidConfigurations)
	}
	counts := b.Trials.statusWords()
	if len(counts) > 0 {
		text += ":"
	}
	for i := range counts[:max(0, len(counts)-1)] {
		counts[i] += ","
	}
	return append(strings.Fields(text), counts...)
}

// searchText says how much was evaluated now, and what was known.
func (b BestConfig) searchText() string {
	s := b.Search
	text := fmt.Sprintf("%d evaluated in %s s", s.Evaluations, significant(s.Seconds, 3))
	unknown := b.Trials.Total - s.Evaluations - s.Resumed
	switch {
	case s.Evaluations == 0 && s.Resumed == 0:
		return s.Strategy
	case s.Evaluations == 0:
		text = fmt.Sprintf("nothing left: all %d configurations were known from the cache", s.Resumed)
		if s.Resumed == 1 {
			text = "nothing left: its one configuration was known from the cache"
		}
		if s.Outlook != nil {
			text = fmt.Sprintf("%d known from the cache", s.Resumed)
		}
		if s.Stop == string(tuner.BudgetSpent) {
			text += "; a bigger --budget goes on"
		}
	case s.Resumed > 0:
		text += fmt.Sprintf(", %d known from the cache", s.Resumed)
	}
	if unknown > 0 && b.Recording != nil {
		text += fmt.Sprintf("; the recording lacks %d others that the strategy asked for", unknown)
	}
	text += b.endText()
	if s.Strategy != "" {
		text = s.Strategy + ", " + text
	}
	return text
}

// startText names the problem whose winner was tried first.
func (b BestConfig) startText() string {
	from := b.Search.StartedFrom
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

// movedBy is how far a median must move in the finals to be worth a line.
const movedBy = 0.01

// finalsText says what the finals changed.
func (b BestConfig) finalsText(f tuner.Lead) string {
	if f.SearchMS <= 0 || f.Leader.Template == "" {
		return ""
	}
	u := b.unit()
	switch same := f.Leader.Key() == b.Configuration.Key(); {
	case f.FinalMS == 0:
		return fmt.Sprintf("%s led the search with %s and failed when it was timed again", f.Leader, u.Format(f.SearchMS))
	case !same:
		return fmt.Sprintf("%s led the search with %s, and was %s when timed again", f.Leader, u.Format(f.SearchMS), u.Format(f.FinalMS))
	case math.Abs(f.FinalMS/f.SearchMS-1) > movedBy:
		return fmt.Sprintf("it led the search with %s; timed again, it takes %s", u.Format(f.SearchMS), u.Format(f.FinalMS))
	}
	return ""
}
