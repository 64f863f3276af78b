package reports

import (
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/tuner"
	"autotune/tuner/devices"
	"autotune/tuner/final"
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
	t.problem(b)
	if b.Found() {
		t.winner(b, d.Lead)
		t.blank()
		t.comparison(b)
	} else {
		t.text("winner", "none: no variant was valid")
	}
	t.blank()
	t.words("trials", trialsWords(b.Trials, b.Search.ValidConfigurations))
	t.text("search", b.searchText())
	t.text("start", b.startText())
	if d.Verbose {
		t.spent(b.Search.Spent)
	}
	t.failures(d.Failures)
	t.warnings(b)
	return t.write(w)
}

// BenchTable writes what a kept winner's comparison ends with.
func BenchTable(w io.Writer, b BestConfig) error {
	t := &table{}
	t.problem(b)
	t.winner(b, tuner.Lead{})
	t.blank()
	t.comparison(b)
	t.warnings(b)
	return t.write(w)
}

// problem writes the problem, the device and the conditions; before them that PyTorch is faster, where it is.
func (t *table) problem(b BestConfig) {
	if faster, ok := b.FasterPyTorch(); ok {
		t.line("%s", faster)
	}
	t.words("problem", append([]string{b.title()}, b.parameterWords()...))
	t.text("device", b.deviceText())
	if b.Problem.MathBy != "" {
		t.text("math", b.Problem.Math+", "+b.Problem.MathBy)
	}
	t.blank()
}

func (t *table) warnings(b BestConfig) {
	for i, warning := range b.warningLines() {
		label := ""
		if i == 0 {
			t.blank()
			label = "warnings"
		}
		t.words(label, append([]string{"-"}, phrases(warning)...))
	}
}

// warningLines are the warnings, and what there is to doubt about all trials.
func (b BestConfig) warningLines() []string {
	lines := slices.Clone(b.Warnings)
	if doubts := trial.Sum(b.Doubts, b.Trials.Total); doubts != "" {
		lines = append(lines, doubts)
	}
	return lines
}

// table is text with lines no longer than tableWidth, except those that cannot be broken.
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

// line writes one line, without control characters.
func (t *table) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	indent := len(text) - len(strings.TrimLeft(text, " "))
	t.lines.WriteString(strings.TrimRight(text[:indent]+output.Line(text), " "))
	t.lines.WriteByte('\n')
}

// grid writes rows with their cells under each other, the first to the left and the others to
// the right. The first is shortened where lines would be longer than width. A row of one cell
// is a line of its own.
func (t *table) grid(rows [][]string, width int) {
	widths := columnWidths(rows)
	for _, w := range widths[1:] {
		width -= w + 2
	}
	widths[0] = min(widths[0], max(width, 8))
	for _, row := range rows {
		if len(row) == 1 {
			t.line("%s", middle(row[0], tableWidth))
			continue
		}
		line := fmt.Sprintf("%-*s", widths[0], middle(row[0], widths[0]))
		for i, cell := range row[1:] {
			line += fmt.Sprintf("  %*s", widths[i+1], cell)
		}
		t.line("%s", line)
	}
}

// columnWidths are the widths of the longest cells of columns.
func columnWidths(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			if len(row) > 1 {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	return widths
}

// parts splits a grid into grids that a width holds, each with the first column.
func parts(rows [][]string, width int) (list [][][]string) {
	widths := columnWidths(rows)
	for first := 1; first < len(widths); {
		last := first + 1
		used := widths[0] + 2 + widths[first]
		for ; last < len(widths) && used+2+widths[last] <= width; last++ {
			used += 2 + widths[last]
		}
		part := lists.Of(rows, func(row []string) []string { return append(row[:1:1], row[first:last]...) })
		list, first = append(list, part), last
	}
	return list
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
	row := func(label string, c Compared) {
		t.line("%-*s%-20s%12s%11s%11s%11s", labelWidth, label, c.Name, c.Time, c.Times, c.Bytes, c.Compute)
	}
	head := Compared{Time: "time", Times: "speedup"}
	if b.Roofline.FloorMS > 0 {
		head.Bytes = "GB/s"
		if b.Roofline.Flops > 0 {
			head.Compute = "GFLOP/s"
		}
	}
	row("compared", head)
	timed, roofline := b.compared()
	for _, c := range timed {
		row("", c)
	}
	if turns := inTurns(timed); turns != "" {
		t.text("", turns)
	}
	for _, text := range b.outputsTexts() {
		t.text("", text)
	}
	for _, c := range roofline {
		row("", c)
		t.text("", b.rooflineText())
	}
}

func (b BestConfig) rooflineText() string {
	r := b.Roofline
	return fmt.Sprintf("%s of the roofline reached: %s at the measured copy bandwidth of %s", formatPercent(r.Share), formatBytes(r.Bytes), formatBandwidth(r.CopyBandwidth))
}

// inTurns are the intervals of speedups over what took turns with the winner.
func inTurns(timed []Compared) string {
	var all []string
	for _, c := range timed {
		if c.Between != "" {
			all = append(all, c.Name+" "+c.Between)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "in turns, with 95 % intervals: " + strings.Join(all, "; ")
}

// outputsTexts say whose outputs agree with the winner's, and whose differ.
func (b BestConfig) outputsTexts() (texts []string) {
	words, tolerance := map[bool][]string{}, ""
	for _, name := range b.baselineNames() {
		if o := b.Baselines[name].Outputs; o != nil {
			words[o.Agree()] = append(words[o.Agree()], fmt.Sprintf("%s with a largest error of %.2g", name.title(), o.MaxAbsError))
			tolerance = o.Tolerance()
		}
	}
	if agree := words[true]; len(agree) > 0 {
		texts = append(texts, "outputs agree with the winner's: "+strings.Join(agree, ", ")+"; the tolerance is "+tolerance)
	}
	if differ := words[false]; len(differ) > 0 {
		texts = append(texts, "outputs differ from the winner's: "+strings.Join(differ, ", ")+"; the tolerance is "+tolerance)
	}
	return texts
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
func trialsWords(counted tuner.Counts, valid int64) []string {
	text := fmt.Sprint(counted.Total)
	if valid > 0 {
		text += fmt.Sprintf(" of %d valid configurations", valid)
	}
	counts := statusWords(counted)
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
		if s.Stop == tuner.BudgetSpent {
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

// movedBy is by how much a median must move in the finals to get a line.
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

// endings are how the table calls the ends of searches.
var endings = map[tuner.Stop]string{
	tuner.Satisfied:   "nothing left to gain",
	tuner.AtRoofline:  "at the roofline",
	tuner.TimeSpent:   "the time was up",
	tuner.BudgetSpent: "the budget was spent",
}

// endText says why a search ended that estimated what is left to gain, and the estimate.
func (b BestConfig) endText() string {
	s := b.Search
	why := endings[s.Stop]
	if s.Outlook == nil || why == "" {
		return ""
	}
	text := fmt.Sprintf("; %s: ", why)
	if s.Stop == tuner.AtRoofline {
		text += significant(100*b.Roofline.Share, 3) + " % reached, and "
	}
	text += fmt.Sprintf("the chance of gaining more than %.3g %% is %s", 100*(s.Outlook.Target-1), percent(s.Outlook.Chance))
	if s.Evaluations == 0 {
		text += "; --target 0 goes on"
	}
	return text
}

// percent writes a chance; a small one is not rounded to zero.
func percent(chance float64) string {
	if chance > 0 && chance < 0.01 {
		return "under 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*chance)
}

// Failure is how trials failed: a status with its commonest reason.
type Failure struct {
	Status trial.Status
	Count  int
	Reason string // the first line of the message
	Alike  int    // trials with this reason, whatever numbers are in it
	Config string // one of them, as `autotune verify --config` takes it
	Show   string // the command that shows it, "" where none can
}

// FailuresOf lists the statuses of trials that failed. verify is the beginning of a command that
// checks one variant, "" where nothing can run it. Pruned trials have not failed.
func FailuresOf(trials []trial.Trial, verify string) []Failure {
	var list []Failure
	for _, status := range trial.Statuses {
		failed := lists.Where(trials, func(t trial.Trial) bool { return t.Status == status && status != trial.OK && status != trial.Pruned })
		if len(failed) > 0 {
			f := commonest(failed)
			f.Status, f.Count = status, len(failed)
			if verify != "" {
				f.Show = verify + " --config " + f.Config
			}
			list = append(list, f)
		}
	}
	return list
}

// numbers are replaced before messages are compared.
var numbers = regexp.MustCompile(`[0-9]+`)

// commonest is the reason that most of the trials have; of several the first.
func commonest(trials []trial.Trial) Failure {
	kinds := map[string]*Failure{}
	var list []*Failure
	for _, t := range trials {
		kind := numbers.ReplaceAllString(t.Reason(), "#")
		if kinds[kind] == nil {
			kinds[kind] = &Failure{Reason: t.Reason(), Config: configArgument(t)}
			list = append(list, kinds[kind])
		}
		kinds[kind].Alike++
	}
	return *slices.MaxFunc(list, func(a, b *Failure) int { return a.Alike - b.Alike })
}

// configArgument writes a trial's configuration as one word of a command line.
func configArgument(t trial.Trial) string {
	words := t.Values.Words()
	if t.Template != "" {
		words = append([]string{"template=" + t.Template}, words...)
	}
	return strings.Join(words, ",")
}

// mostReason is how much of a reason is shown.
const mostReason = 300

// failures writes a line a status, and how to see one such variant. The command
// is not wrapped, so that it can be copied.
func (t *table) failures(list []Failure) {
	for i, f := range list {
		label := ""
		if i == 0 {
			t.blank()
			label = "failures"
		}
		text := fmt.Sprintf("%d %s", f.Count, f.Status)
		if f.Alike < f.Count {
			text += fmt.Sprintf(", %d of them", f.Alike)
		}
		if f.Reason != "" {
			text += ": " + middle(f.Reason, mostReason)
		}
		t.text(label, text)
		if f.Show != "" {
			t.line("%-*s%s", labelWidth, "", f.Show)
		}
	}
}

// The columns of the table of devices.
const (
	deviceWidth  = 10
	problemWidth = tableWidth - deviceWidth - 2
)

// DevicesTable tells what devices there are: what --device takes, then what that
// is, and the problems of recordings.
func DevicesTable(list []devices.Listing) string {
	t := &table{}
	t.line("%-*s%s", deviceWidth, "--device", "what")
	for _, l := range list {
		t.wrap(l.Device, deviceWidth, phrases(l.About))
		for _, problem := range l.Problems {
			t.line("%-*s%s", deviceWidth+2, "", briefly(problem, problemWidth))
		}
	}
	return t.lines.String()
}

// briefly shortens a problem by leaving out the words before the last, which
// tells its math mode.
func briefly(problem string, most int) string {
	words := strings.Fields(problem)
	text := problem
	for n := len(words) - 2; n > 0 && utf8.RuneCountInString(text) > most; n-- {
		text = strings.Join(words[:n], " ") + " … " + words[len(words)-1]
	}
	return middle(text, most)
}
