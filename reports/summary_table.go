package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"autotune/internal/output"
	"autotune/tuner/device"
)

// SummaryTable writes a Markdown table of several problems: the winner's time,
// its speedup over each baseline that any of them knows, and its share of the
// measured copy bandwidth. Times of different devices are told apart by a column.
func SummaryTable(w io.Writer, list []BestConfig) error {
	columns := knownBaselines(list)
	head := []string{"problem", "math", "winner", "ms"}
	several := slices.ContainsFunc(list, func(b BestConfig) bool { return b.Device.Name != list[0].Device.Name })
	if several {
		head = slices.Insert(head, 2, "device")
	}
	unusual := slices.ContainsFunc(list, func(b BestConfig) bool { return !b.Conditions.Usual() })
	if unusual {
		head = append(head, "timed")
	}
	for _, name := range columns {
		head = append(head, "over "+name.title())
	}
	rows := [][]string{append(head, "of copy bandwidth")}
	for _, b := range list {
		row := []string{b.title(), b.Problem.Math, b.Template, significant(b.Time.Median, 4)}
		if several {
			row = slices.Insert(row, 2, b.Device.Name)
		}
		if unusual {
			row = append(row, b.Conditions.String())
		}
		for _, name := range columns {
			cell := ""
			if base, known := b.Baselines[name]; known {
				cell = formatSpeedup(base.Speedup)
			}
			row = append(row, cell)
		}
		share := ""
		if b.Roofline.Share > 0 {
			share = formatPercent(b.Roofline.Share)
		}
		rows = append(rows, append(row, share))
	}
	if err := markdown(w, rows); err != nil {
		return err
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
