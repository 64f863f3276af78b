package reports

import (
	"fmt"
	"io"
	"slices"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
)

// pyTorch stands for the faster of PyTorch's ways, in summaries.
const pyTorch = "PyTorch"

// fasterMark stands behind a speedup over PyTorch where that is faster.
const fasterMark = "!"

// SummaryTable writes a table of several problems: the winner's time, its speedup over each baseline that any of them
// knows, and its share of the measured copy bandwidth. Where PyTorch took turns with winners, one column has the faster
// of its ways, and a mark where that is faster than the winner. Columns name the devices and conditions, where there
// are several. It is Markdown, unless that is wider than a terminal; a width of 0 is any width.
func SummaryTable(w io.Writer, list []bestconfig.Document, width int) error {
	over := summaryBaselines(list)
	rows := rowsOf(summaryColumns(list, over, func(title, _ string) string { return "over " + title }), list)
	total := 1
	for _, column := range columnWidths(rows) {
		total += column + 3
	}
	var err error
	if width > 0 && total > width {
		err = narrowSummary(w, list, over, width)
	} else {
		err = markdown(w, rows)
	}
	note := func(text string) {
		if err == nil {
			_, err = fmt.Fprintf(w, "\n%s\n", text)
		}
	}
	if slices.ContainsFunc(list, func(b bestconfig.Document) bool { _, ok := b.FasterPyTorch(); return ok }) {
		note(fasterMark + " PyTorch is faster than the winner.")
	}
	for _, p := range device.Kinds() {
		if p.Caveat != "" && slices.ContainsFunc(list, func(b bestconfig.Document) bool { return b.Device.Kind == p.Kind }) {
			note("Times of " + p.Label + " say nothing about a GPU.")
		}
	}
	return err
}

// summaryColumns are the columns of the table in Markdown. A baseline's head is made of its title and its short title.
func summaryColumns(
	list []bestconfig.Document, over []string, head func(title, short string) string,
) (columns []column[bestconfig.Document]) {
	add := func(head string, cell func(bestconfig.Document) string) {
		columns = append(columns, column[bestconfig.Document]{head: head, cell: cell})
	}
	add("problem", Title)
	add("math", func(b bestconfig.Document) string { return b.Problem.Math })
	if slices.ContainsFunc(list, func(b bestconfig.Document) bool { return b.Device.Name != list[0].Device.Name }) {
		add("device", func(b bestconfig.Document) string { return b.Device.Name })
	}
	add("winner", func(b bestconfig.Document) string { return b.Template })
	add("ms", func(b bestconfig.Document) string { return significant(b.Time.Median, 4) })
	if slices.ContainsFunc(list, func(b bestconfig.Document) bool { return !b.Conditions.Usual() }) {
		add("timed", func(b bestconfig.Document) string { return b.Conditions.String() })
	}
	return append(columns, ratioColumns(over, head, "of copy bandwidth")...)
}

// ratioColumns are the speedups over baselines, and the share of the copy bandwidth; "" where one is not known.
func ratioColumns(
	over []string, head func(title, short string) string, share string,
) (columns []column[bestconfig.Document]) {
	for _, name := range over {
		ratio := func(b bestconfig.Document) string {
			base, known := b.Baselines[name]
			if name == pyTorch {
				way, fastest := b.PyTorch(func(tuner.Baseline) bool { return true })
				base, known = fastest, way != ""
			}
			if !known {
				return ""
			}
			text := bestconfig.FormatSpeedup(base.Speedup)
			if _, faster := b.FasterPyTorch(); faster && name == pyTorch {
				text += " " + fasterMark
			}
			return text
		}
		columns = append(columns, column[bestconfig.Document]{head: head(bestconfig.Titles(name)), cell: ratio})
	}
	return append(columns, column[bestconfig.Document]{head: share, cell: func(b bestconfig.Document) string {
		if b.Roofline.Share <= 0 {
			return ""
		}
		return formatPercent(b.Roofline.Share)
	}})
}

// narrowSummary is the table for a terminal: short heads, and a second line a problem.
func narrowSummary(w io.Writer, list []bestconfig.Document, over []string, width int) error {
	columns := append([]column[bestconfig.Document]{
		{head: "problem", cell: func(b bestconfig.Document) string { return Title(b) + " " + b.Problem.Math }},
		{head: "ms", cell: func(b bestconfig.Document) string { return significant(b.Time.Median, 4) }},
	}, ratioColumns(over, func(_, short string) string { return short }, "of copy")...)
	rows := rowsOf(columns, list)
	for i, b := range slices.Backward(list) {
		rows = slices.Insert(rows, i+2, []string{"  " + joined(", ", b.Template, b.Device.Name, b.Conditions.Unusual())})
	}
	t := &table{}
	t.grid(rows, width)
	t.wrap("", 0, "ms: of the winner, which the line below names; then how many times faster it is, "+
		"and its share of the copy bandwidth")
	return t.write(w)
}

// speedupsKnown are the usual baselines that a user compares with and any problem knows.
func speedupsKnown(list []bestconfig.Document) []string {
	return lists.Where(bestconfig.Names(list...), func(name string) bool {
		known := func(b bestconfig.Document) bool { return b.Baselines[name].Speedup > 0 }
		return bestconfig.Usual(name) && name != bestconfig.Reference && slices.ContainsFunc(list, known)
	})
}

// summaryBaselines are the baselines that the summary has columns for. PyTorch's ways are one where they took turns with
// a winner: then it is known which is the faster one.
func summaryBaselines(list []bestconfig.Document) []string {
	known := speedupsKnown(list)
	inTurns := func(b bestconfig.Document) bool { way, _ := b.PyTorch(bestconfig.InTurns); return way != "" }
	if !slices.ContainsFunc(list, inTurns) {
		return known
	}
	at := slices.IndexFunc(known, bestconfig.OwnLayout)
	return slices.Insert(slices.DeleteFunc(known, bestconfig.OwnLayout), at, pyTorch)
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
	return aligned(w, rowsOf([]column[Unsolved]{
		{head: "problem", cell: func(u Unsolved) string { return u.Problem }},
		{head: "status", cell: func(u Unsolved) string { return u.Status }},
		{head: "reason", cell: func(u Unsolved) string { return u.Reason }},
	}, list))
}
