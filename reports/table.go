package reports

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// tableWidth is what the table keeps to, so that it looks the same in a
// terminal, a pipe and a log.
const tableWidth = 80

// labelWidth is the column in which the table's contents begin.
const labelWidth = 12

// Table writes what a search ends with: the problem, the winner, its time
// against the baselines and the roofline, the trials and the warnings.
func Table(w io.Writer, b BestConfig) error {
	t := &table{}
	t.words("problem", append([]string{b.title()}, b.parameterWords()...))
	t.words("device", strings.Fields(b.deviceText()))
	t.blank()
	if b.Found() {
		t.winner(b)
		t.blank()
		t.comparison(b)
		t.roofline(b)
	} else {
		t.words("winner", []string{"none: no variant was valid"})
	}
	t.blank()
	t.words("trials", b.trialsWords())
	if text := b.searchText(); text != "" {
		t.words("search", strings.Fields(text))
	}
	if from := b.Search.StartedFrom; len(from) > 0 {
		t.words("start", strings.Fields("from the winners of "+strings.Join(from, "; ")))
	}
	if text := b.spentText(); text != "" {
		t.words("spent", strings.Fields(text))
	}
	for i, warning := range b.Warnings {
		label := ""
		if i == 0 {
			t.blank()
			label = "warnings"
		}
		t.words(label, append([]string{"-"}, strings.Fields(warning)...))
	}
	_, err := io.WriteString(w, t.text.String())
	return err
}

type table struct{ text strings.Builder }

func (t *table) blank() { t.text.WriteByte('\n') }

// words writes a label and words, wrapped, under each other.
func (t *table) words(label string, words []string) {
	for _, line := range wrapped(words, func(line string) bool { return labelWidth+utf8.RuneCountInString(line) <= tableWidth }) {
		t.line(fmt.Sprintf("%-*s%s", labelWidth, label, line))
		label = ""
	}
}

func (t *table) line(s string) {
	t.text.WriteString(strings.TrimRight(s, " "))
	t.text.WriteByte('\n')
}

func (t *table) winner(b BestConfig) {
	t.words("winner", append([]string{b.Template}, b.Values.Words()...))
	launch := fmt.Sprintf("grid %s, block %s", dims(b.Launch.Grid), dims(b.Launch.Block))
	if b.Launch.SharedBytes > 0 {
		launch += fmt.Sprintf(", %d bytes of dynamic shared memory", b.Launch.SharedBytes)
	}
	t.words("launch", strings.Fields(launch))
	t.words("time", strings.Fields(b.timeText()))
	if b.EnergyMJ > 0 {
		t.words("energy", strings.Fields(significant(b.EnergyMJ, 4)+" mJ a launch"))
	}
	t.words("error", strings.Fields(fmt.Sprintf("%.3g at most, absolute, against the reference", b.MaxAbsError)))
}

// comparison is the part with columns: what, its time, the winner's speedup.
func (t *table) comparison(b BestConfig) {
	row := func(label, name, time, speedup string) {
		t.line(fmt.Sprintf("%-*s%-20s%12s%11s", labelWidth, label, name, time, speedup))
	}
	row("compared", "", "time", "speedup")
	u := unitOf(b.Time.Median)
	row("", "winner", u.format(b.Time.Median), "")
	for _, name := range b.baselineNames() {
		base := b.Baselines[name]
		row("", name.title(), u.format(base.TimeMS), formatSpeedup(base.Speedup))
	}
	if b.Roofline.FloorMS > 0 {
		row("", "roofline", u.format(b.Roofline.FloorMS), "")
	}
}

func (t *table) roofline(b BestConfig) {
	if b.Roofline.FloorMS <= 0 {
		return
	}
	t.words("", strings.Fields(fmt.Sprintf("%s of the roofline reached: %s at the measured copy bandwidth of %s",
		formatPercent(b.Roofline.Share), formatBytes(b.Roofline.Bytes), formatBandwidth(b.Roofline.CopyBandwidth))))
}

func dims(d [3]int64) string { return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2]) }

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
	u := unitOf(b.Time.Median)
	if b.Time.Samples < 2 {
		return fmt.Sprintf("%s, one sample", u.format(b.Time.Median))
	}
	return fmt.Sprintf("%s, 95 %% interval %s to %s, %d samples",
		u.format(b.Time.Median), u.format(b.Time.CI95[0]), u.format(b.Time.CI95[1]), b.Time.Samples)
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

func (b BestConfig) searchText() string {
	var parts []string
	if b.Search.Strategy != "" {
		parts = append(parts, b.Search.Strategy)
	}
	if b.Search.Evaluations > 0 || b.Search.Resumed > 0 {
		parts = append(parts, fmt.Sprintf("%d evaluated in %s s", b.Search.Evaluations, significant(b.Search.Seconds, 3)))
	}
	if b.Search.Resumed > 0 {
		parts = append(parts, fmt.Sprintf("%d from the cache", b.Search.Resumed))
	}
	return strings.Join(parts, ", ")
}

// spentText says where the search's time went.
func (b BestConfig) spentText() string {
	s := b.Search.Spent
	if s == nil {
		return ""
	}
	seconds := func(name string, x float64) string { return name + " " + significant(x, 3) + " s" }
	device := strings.Join([]string{
		seconds("open", s.Open), seconds("verify", s.Verify), seconds("time", s.Measure), seconds("finals", s.Finals), seconds("idle", s.Wait),
	}, ", ")
	return fmt.Sprintf("device: %s; compilers side by side: %s; either busy %s of the time",
		device, significant(s.Compile, 3)+" s", formatPercent(s.Busy))
}
