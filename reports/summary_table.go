package reports

import (
	"fmt"
	"io"
	"slices"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/torchtimes"
)

// pyTorch names the summary's column for the faster of eager PyTorch and torch.compile.
const pyTorch = "PyTorch"

// fasterMark follows a speedup over PyTorch if PyTorch is faster than the winner.
const fasterMark = "!"

// SummaryTable writes a table of several problems: the winner's time, its speedup over each known baseline, and its
// share of the measured copy bandwidth. If winners were timed in turns with PyTorch, one column compares with the
// faster way to run PyTorch, and fasterMark marks the rows in which PyTorch wins. If problems differ in devices or
// conditions, the table has columns for the devices and conditions. The table is Markdown, unless a Markdown table
// would be wider than width; a width of 0 means no limit.
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

// summaryColumns returns the columns of the summary in Markdown. The function head makes a column's heading from a
// baseline's title and short title.
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

// ratioColumns returns the columns for speedups over baselines and for the share of the copy bandwidth, "" if unknown.
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

// narrowSummary writes the summary for a terminal, with short headings and two lines for each problem.
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

// speedupsKnown returns the usual baselines over which at least one problem has a known speedup; it leaves out the
// reference.
func speedupsKnown(list []bestconfig.Document) []string {
	return lists.Where(bestconfig.Names(list...), func(name string) bool {
		known := func(b bestconfig.Document) bool { return b.Baselines[name].Speedup > 0 }
		return bestconfig.Usual(name) && name != bestconfig.Reference && slices.ContainsFunc(list, known)
	})
}

// summaryBaselines returns the baselines that have a column in the summary. Eager PyTorch and torch.compile share one
// column if any winner was timed in turns with PyTorch.
func summaryBaselines(list []bestconfig.Document) []string {
	known := speedupsKnown(list)
	inTurns := func(b bestconfig.Document) bool { way, _ := b.PyTorch(bestconfig.InTurns); return way != "" }
	if !slices.ContainsFunc(list, inTurns) {
		return known
	}
	ways := func(name string) bool { return slices.Contains(torchtimes.Ways(), name) }
	at := slices.IndexFunc(known, ways)
	return slices.Insert(slices.DeleteFunc(known, ways), at, pyTorch)
}

type Unsolved struct {
	Problem string
	Status  string // status in a word or two
	Reason  string
}

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
