package reports

import (
	"strings"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/tuner/bestconfig"
	"autotune/tuner/explain"
)

// WinnerText describes a winner: its problem, its configuration and its time.
func WinnerText(b bestconfig.Document) string {
	return Hang("", strings.Join(append([]string{Title(b)}, parametersOf(b)...), " ")) + Hang("", settingOf(b)) +
		Hang("", b.Configuration.String()+": "+timeText(b))
}

func ExplanationText(e explain.Explanation) string {
	text := ""
	for _, sentence := range e.Sentences {
		text += Hang("- ", output.Line(sentence))
	}
	if len(e.Tunables) == 0 {
		return text
	}
	var table strings.Builder
	_ = aligned(&table, rowsOf([]column[explain.Tunable]{
		{head: "tunable", cell: func(t explain.Tunable) string { return t.Name }},
		{head: "value", cell: func(t explain.Tunable) string { return t.Value }},
		{head: "default", cell: func(t explain.Tunable) string { return t.Default }},
		{head: "changed alone", cell: func(t explain.Tunable) string {
			costs := lists.Of(t.Neighbours, func(n explain.Neighbour) string { return n.Value + ": " + n.Cost.String() })
			return strings.Join(costs, ", ")
		}},
	}, e.Tunables))
	return text + "\n" + table.String()
}
