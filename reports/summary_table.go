package reports

import (
	"fmt"
	"io"
	"strings"
)

// summaryBaselines are the baselines that the summary has columns for.
var summaryBaselines = []BaselineName{Default, TorchEager, TorchCompile, TorchEagerFP32}

// SummaryTable writes a Markdown table of several problems: the winner's time,
// its speedup over each baseline that any of them knows, and its share of the
// measured copy bandwidth.
func SummaryTable(w io.Writer, list []BestConfig) error {
	columns := knownBaselines(list)
	head := []string{"problem", "math", "winner", "ms"}
	for _, name := range columns {
		head = append(head, "over "+name.title())
	}
	rows := [][]string{append(head, "of copy bandwidth")}
	for _, b := range list {
		row := []string{b.title(), b.Problem.Math, b.Template, formatMilliseconds(b.Time.Median)}
		for _, name := range columns {
			row = append(row, speedupCell(b, name))
		}
		share := ""
		if b.Roofline.Share > 0 {
			share = formatPercent(b.Roofline.Share)
		}
		rows = append(rows, append(row, share))
	}
	_, err := io.WriteString(w, markdown(rows))
	return err
}

func knownBaselines(list []BestConfig) []BaselineName {
	var known []BaselineName
	for _, name := range summaryBaselines {
		for _, b := range list {
			if _, ok := b.Baselines[name]; ok {
				known = append(known, name)
				break
			}
		}
	}
	return known
}

func speedupCell(b BestConfig, name BaselineName) string {
	base, ok := b.Baselines[name]
	if !ok {
		return ""
	}
	return formatSpeedup(base.Speedup)
}

func formatMilliseconds(ms float64) string { return significant(ms, 4) }

// markdown lays rows out as a table whose source is aligned too.
func markdown(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var text strings.Builder
	line := func(cells []string) {
		for i, cell := range cells {
			fmt.Fprintf(&text, "| %-*s ", widths[i], cell)
		}
		text.WriteString("|\n")
	}
	line(rows[0])
	rule := make([]string, len(widths))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
	}
	line(rule)
	for _, row := range rows[1:] {
		line(row)
	}
	return text.String()
}
