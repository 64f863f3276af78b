package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/internal/output"
)

// SummaryTable writes a table of several problems: the winner's time, its speedup over
// each baseline that any of them knows, and its share of the measured copy bandwidth. Where PyTorch took turns with
// winners, one column has the faster of its ways, and a mark where that is faster than the winner.
// Columns tell the devices and conditions apart, where there are several. It is
// Markdown, unless that is wider than a terminal: a width of 0 is of none.
func SummaryTable(w io.Writer, list []BestConfig, width int) error {
	known := summaryBaselines(list)
	head := []string{"problem", "math", "device", "winner", "ms", "timed"}
	head = append(head, lists.Of(known, func(name BaselineName) string { return "over " + name.title() })...)
	rows := [][]string{append(head, "of copy bandwidth")}
	for _, b := range list {
		row := []string{b.title(), b.Problem.Math, b.Device.Name, b.Template, significant(b.Time.Median, 4), b.Conditions.String()}
		rows = append(rows, append(row, b.ratios(known)...))
	}
	if !slices.ContainsFunc(list, func(b BestConfig) bool { return !b.Conditions.Usual() }) {
		rows = withoutColumn(rows, 5)
	}
	if !slices.ContainsFunc(list, func(b BestConfig) bool { return b.Device.Name != list[0].Device.Name }) {
		rows = withoutColumn(rows, 2)
	}
	total := 1
	for _, column := range columnWidths(rows) {
		total += column + 3
	}
	write := markdown
	if width > 0 && total > width {
		write = func(w io.Writer, _ [][]string) error { return narrowSummary(w, list, known, width) }
	}
	if err := write(w, rows); err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(b BestConfig) bool { _, ok := b.FasterPyTorch(); return ok }) {
		if _, err := fmt.Fprintf(w, "\n%s PyTorch is faster than the winner.\n", fasterMark); err != nil {
			return err
		}
	}
	for _, p := range device.Kinds() {
		if p.Caveat != "" && slices.ContainsFunc(list, func(b BestConfig) bool { return b.Device.Kind == p.Kind }) {
			if _, err := fmt.Fprintf(w, "\nTimes of %s say nothing about a GPU.\n", p.Label); err != nil {
				return err
			}
		}
	}
	return nil
}

// ratios are the speedups over baselines, and the share of the copy bandwidth; "" where
// one is not known.
func (b BestConfig) ratios(over []BaselineName) []string {
	cells := make([]string, len(over)+1)
	for i, name := range over {
		base, known := b.Baselines[name]
		if name == pyTorch {
			base, known = b.pyTorch()
		}
		if known {
			cells[i] = formatSpeedup(base.Speedup)
		}
		if _, faster := b.FasterPyTorch(); faster && name == pyTorch {
			cells[i] += " " + fasterMark
		}
	}
	if b.Roofline.Share > 0 {
		cells[len(over)] = formatPercent(b.Roofline.Share)
	}
	return cells
}

func withoutColumn(rows [][]string, at int) [][]string {
	for i, row := range rows {
		rows[i] = slices.Delete(row, at, at+1)
	}
	return rows
}

// narrowSummary is the table for a terminal: short heads, and a second line a problem.
func narrowSummary(w io.Writer, list []BestConfig, known []BaselineName, width int) error {
	head := []string{"problem", "ms"}
	head = append(head, lists.Of(known, BaselineName.short)...)
	rows := [][]string{append(head, "of copy")}
	for _, b := range list {
		rows = append(rows, append([]string{b.title() + " " + b.Problem.Math, significant(b.Time.Median, 4)}, b.ratios(known)...))
		rows = append(rows, []string{"  " + strings.Join(slices.DeleteFunc([]string{b.Template, b.Device.Name, b.Conditions.Unusual()}, func(s string) bool { return s == "" }), ", ")})
	}
	t := &table{}
	t.grid(rows, width)
	t.wrap("", 0, phrases("ms: of the winner, which the line below names; then how many times faster it is, and its share of the copy bandwidth"))
	return t.write(w)
}

// knownBaselines are the baselines that the summary has columns for: those that
// a user compares with and any problem knows.
func knownBaselines(list []BestConfig) []BaselineName {
	var names []BaselineName
	for _, u := range usual {
		if u.name != Reference && slices.ContainsFunc(list, func(b BestConfig) bool { return b.Baselines[u.name].Speedup > 0 }) {
			names = append(names, u.name)
		}
	}
	return names
}

// fasterMark stands behind a speedup over PyTorch where that is faster.
const fasterMark = "!"

// summaryBaselines are the baselines that the summary has columns for. PyTorch's ways are one where they took turns with
// a winner: then it is known which is the faster one.
func summaryBaselines(list []BestConfig) []BaselineName {
	known := knownBaselines(list)
	inTurns := func(b BestConfig) bool {
		for name, c := range b.Baselines {
			if name.ownLayout() && c.inTurns() {
				return true
			}
		}
		return false
	}
	if !slices.ContainsFunc(list, inTurns) {
		return known
	}
	at := slices.IndexFunc(known, BaselineName.ownLayout)
	known = slices.DeleteFunc(known, BaselineName.ownLayout)
	return slices.Insert(known, at, pyTorch)
}

// Unsolved is a problem of several that went wrong.
type Unsolved struct {
	Problem string
	Status  string // in a word or two
	Reason  string
}

// UnsolvedTable writes a line for each problem that went wrong.
func UnsolvedTable(w io.Writer, list []Unsolved) error {
	if len(list) == 0 {
		return nil
	}
	rows := [][]string{{"problem", "status", "reason"}}
	rows = append(rows, lists.Of(list, func(u Unsolved) []string { return []string{u.Problem, u.Status, u.Reason} })...)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(lists.Of(row, output.Line), "\t"))
	}
	return t.Flush()
}

// markdown lays rows out as a table whose source is aligned too.
func markdown(w io.Writer, rows [][]string) error {
	rule := make([]string, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = output.Line(cell)
			rule[i] = strings.Repeat("-", max(len(rule[i]), utf8.RuneCountInString(row[i])))
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	for _, row := range slices.Insert(rows, 1, rule) {
		fmt.Fprintf(t, "| %s\t|\n", strings.Join(row, "\t| "))
	}
	return t.Flush()
}
