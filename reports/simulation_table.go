package reports

import (
	"fmt"
	"io"

	"autotune/tuner/simulate"
)

// SimulationTable prints a row for each recording and a column for each strategy, and the columns' means below.
func SimulationTable(w io.Writer, r *simulate.Report) error {
	rows := [][]string{{"recording", "configurations"}}
	mean, interval := []string{"mean", ""}, []string{"95 %", ""}
	for _, about := range r.Recordings {
		rows = append(rows, []string{about.Name, fmt.Sprint(about.Configurations)})
	}
	for _, s := range r.Strategies {
		rows[0] = append(rows[0], s.Strategy)
		for i, score := range s.Scores {
			rows[i+1] = append(rows[i+1], fmt.Sprintf("%.2f", score.Score))
		}
		mean = append(mean, fmt.Sprintf("%.3f", s.Mean))
		interval = append(interval, fmt.Sprintf("%.2f to %.2f", s.CI95[0], s.CI95[1]))
	}
	t := &table{}
	t.grid(append(rows, mean, interval), tableWidth)
	t.blank()
	t.wrap("", 0, fmt.Sprintf("%d repeats; 0 is random search, 1 the optimum; the interval is of the mean", r.Repeats))
	return t.write(w)
}
