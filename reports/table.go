package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/final"
)

// tableWidth is the width of tables in columns, whether they go to a terminal, a pipe or a log.
const tableWidth = 80

// labelWidth is the column in which the table's contents begin.
const labelWidth = 12

// table is a text whose lines are no longer than tableWidth, except lines that cannot be broken.
type table struct{ lines strings.Builder }

func (t *table) blank() { t.lines.WriteByte('\n') }

// text writes a label and a wrapped text after it, or nothing if the text is empty.
func (t *table) text(label, text string) { t.wrap(label, labelWidth, text) }

// list writes texts below each other, with a label before the first.
func (t *table) list(label string, texts []string) {
	for _, text := range texts {
		t.text(label, text)
		label = ""
	}
}

// wrap writes a label and, from column indent on, a wrapped text.
func (t *table) wrap(label string, indent int, text string) {
	fits := func(line string) bool { return indent+utf8.RuneCountInString(line) <= tableWidth }
	for _, line := range wrapped(phrases(text), fits) {
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

// grid writes rows of cells, of which it aligns the first column to the left and all other columns to the right. Cells
// of the first column are shortened if lines would be longer than width. A row of one cell becomes a line by itself.
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

func (t *table) write(w io.Writer) error {
	_, err := io.WriteString(w, t.lines.String())
	return err
}

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

// column is a table's column: its heading, and the function that makes its cell for each T.
type column[T any] struct {
	head string
	cell func(T) string
}

func rowsOf[T any](columns []column[T], list []T) [][]string {
	rows := [][]string{lists.Of(columns, func(c column[T]) string { return output.Line(c.head) })}
	for _, x := range list {
		rows = append(rows, lists.Of(columns, func(c column[T]) string { return output.Line(c.cell(x)) }))
	}
	return rows
}

// inTable escapes the characters that would end a cell of a Markdown table.
var inTable = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", "`", "\\`")

// markdown writes rows as a Markdown table whose source text is aligned, too.
func markdown(w io.Writer, rows [][]string) error {
	escaped := lists.Of(rows, func(row []string) []string { return lists.Of(row, inTable.Replace) })
	rule := lists.Of(columnWidths(escaped), func(width int) string { return strings.Repeat("-", width) })
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	for _, row := range slices.Insert(escaped, 1, rule) {
		fmt.Fprintf(t, "| %s\t|\n", strings.Join(row, "\t| "))
	}
	return t.Flush()
}

// aligned writes rows with all cells aligned to the left.
func aligned(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return t.Flush()
}

// SearchTable writes the table at the end of a search: the problem, the winner, its time compared with the baselines
// and the roofline, the trials and the warnings.
func SearchTable(w io.Writer, b bestconfig.Document, failures []Failure) error {
	t := &table{}
	t.problem(b)
	if b.Found() {
		t.winner(b)
	} else {
		t.text("winner", "none: no variant was valid")
	}
	t.blank()
	t.text("trials", trialsText(b))
	t.text("search", searchText(b))
	t.failures(failures)
	t.warnings(b)
	return t.write(w)
}

// BenchTable writes the table at the end of `autotune bench`, which times a stored winner again.
func BenchTable(w io.Writer, b bestconfig.Document) error {
	t := &table{}
	t.problem(b)
	t.winner(b)
	t.warnings(b)
	return t.write(w)
}

// problem writes the problem, the device and the conditions, and on the first line whether PyTorch is faster.
func (t *table) problem(b bestconfig.Document) {
	if faster, ok := b.FasterPyTorch(); ok {
		t.line("%s", faster)
	}
	t.text("problem", strings.Join(append([]string{Title(b)}, parametersOf(b)...), " "))
	t.text("device", deviceText(b))
	if b.Problem.MathBy != "" {
		t.text("math", b.Problem.Math+", "+b.Problem.MathBy)
	}
	t.blank()
}

func (t *table) winner(b bestconfig.Document) {
	t.text("winner", b.Configuration.String())
	for _, line := range b.Launches.Lines() {
		t.text("launch", line)
	}
	t.text("time", timeText(b))
	t.text("timed", b.Conditions.Unusual())
	t.text("error", fmt.Sprintf("%.3g at most, absolute, against the reference", b.MaxAbsError))
	t.ties(b)
	if c := b.Confirmation; c != nil {
		t.text("confirmed", "correct and "+FormatMS(c.Time.Median)+" on a second worker, "+c.Worker)
	}
	if b.Gates != nil {
		t.text("gates", "passed: "+b.Gates.String())
	}
	t.blank()
	t.comparison(b)
}

// shownTies is how many of the variants that tie with the winner a table names.
const shownTies = 3

// ties names the variants whose times, in the final measurements of a search, could not be distinguished from the
// winner's.
func (t *table) ties(b bestconfig.Document) {
	others := lists.Where(b.Ties, func(c final.Contender) bool { return c.Key() != b.Configuration.Key() })
	if len(others) == 0 {
		return
	}
	t.text("ties", fmt.Sprintf("with %s: the finals cannot tell them apart; the winner needs the fewest resources",
		output.Count(len(others), "other")))
	for _, c := range others[:min(len(others), shownTies)] {
		t.text("", unitOf(b).Format(c.Time.Median)+" "+c.Configuration.String())
	}
	if len(others) > shownTies {
		t.text("", fmt.Sprintf("and %d more", len(others)-shownTies))
	}
}

// comparison writes the rows that compare times: a name, its time and the winner's speedup. If the roofline is known,
// each row also has the rates of bytes and operations.
func (t *table) comparison(b bestconfig.Document) {
	row := func(label string, c compared) {
		t.line("%-*s%-20s%12s%11s%11s%11s", labelWidth, label, c.name, c.time, c.times, c.bytes, c.compute)
	}
	head, rows := compared{time: "time", times: "speedup"}, comparedIn(b)
	if b.Roofline.FloorMS > 0 {
		head.bytes = "GB/s"
	}
	if rows[0].compute != "" {
		head.compute = "GFLOP/s"
	}
	row("compared", head)
	var turns []string
	for _, c := range rows {
		if c.roofline {
			break
		}
		row("", c)
		if c.between != "" {
			turns = append(turns, c.name+" "+c.between)
		}
	}
	if len(turns) > 0 {
		t.text("", "in turns, with 95 % intervals: "+strings.Join(turns, "; "))
	}
	t.list("", outputsTexts(b))
	if last := rows[len(rows)-1]; last.roofline {
		row("", last)
		t.text("", rooflineText(b.Roofline))
	}
}

// mostReason limits how many characters of a trial's reason for failing the table shows.
const mostReason = 300

// failures writes a line for each status of failed trials, and the command that runs one variant with this status
// again. failures does not wrap the command, so that users can copy it.
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

func (t *table) warnings(b bestconfig.Document) {
	if list := warningsOf(b); len(list) > 0 {
		t.blank()
		t.list("warnings", lists.Of(list, func(warning string) string { return "- " + output.Line(warning) }))
	}
}

// deviceWidth and problemWidth are the widths of two columns in the table of devices.
const (
	deviceWidth  = 10
	problemWidth = tableWidth - deviceWidth - 2
)

// DevicesTable lists the devices: the value for --device, a description, and the problems in recordings.
func DevicesTable(list []devices.Listing) string {
	t := &table{}
	t.line("%-*s%s", deviceWidth, "--device", "what")
	for _, l := range list {
		t.wrap(l.Device, deviceWidth, l.About)
		for _, problem := range l.Problems {
			t.line("%-*s%s", deviceWidth+2, "", middle(problem, problemWidth))
		}
	}
	return t.lines.String()
}
