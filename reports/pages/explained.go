package pages

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/reports"
	why "autotune/tuner/explain"
)

// Explained says why a winner wins.
type Explained struct {
	Problem    string `json:"problem"`
	Device     string `json:"device"`
	MeasuredOn string `json:"measured_on,omitempty"` // the device that timed neighbours; "": none did
	why.Explanation
}

// Text has the sentences, then a row a tunable.
func (e Explained) Text(best reports.BestConfig) string {
	about := best.Tell(reports.Details{})
	text := reports.Hang("", about.Title+" "+about.Parameters) + reports.Hang("", about.Setting) +
		reports.Hang("", best.Configuration.String()+": "+about.Time)
	if e.MeasuredOn != "" {
		text += reports.Hang("", "measured now in turns with its neighbours on "+output.Line(e.MeasuredOn)+": "+reports.FormatMS(e.TimeMS))
	}
	text += "\n"
	for _, sentence := range e.Sentences {
		text += reports.Hang("- ", output.Line(sentence))
	}
	if len(e.Tunables) == 0 {
		return text
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "tunable\tvalue\tdefault\tchanged alone\tnot tried")
	for _, t := range e.Tunables {
		costs := lists.Of(t.Neighbours, func(n why.Neighbour) string { return n.Value + ": " + n.Cost.String() })
		row := []string{t.Name, t.Value, t.Default, strings.Join(costs, ", "), strings.Join(t.Untried, ", ")}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(lists.Of(row, output.Line), "\t"), "\t"))
	}
	w.Flush()
	return text + "\n" + table.String()
}
