package reports

import (
	"fmt"
	"io"

	"autotune/internal/lists"
	"autotune/tuner/simulate"
)

// SimulationTable prints a line a recording, then a row a strategy and a column
// a recording, as many side by side as have room.
func SimulationTable(w io.Writer, r *simulate.Report) error {
	t := &table{}
	recordings, scores := [][]string{{"recording", "column", "configurations"}}, [][]string{{""}}
	for i, about := range r.Recordings {
		column := fmt.Sprint(i + 1)
		recordings = append(recordings, []string{about.Name, column, extent(about)})
		scores[0] = append(scores[0], column)
	}
	scores[0] = append(scores[0], "mean            95 %")
	t.grid(recordings, tableWidth)
	for _, line := range simulationWarnings(r) {
		t.blank()
		t.wrap("", 0, line)
	}
	for _, s := range r.Strategies {
		row := []string{s.Label()}
		for _, score := range s.Scores {
			row = append(row, fmt.Sprintf("%.2f", score.Score))
		}
		scores = append(scores, append(row, fmt.Sprintf("%.3f  [%.2f, %.2f]", s.Mean, s.CI95[0], s.CI95[1])))
	}
	for _, part := range parts(scores, tableWidth) {
		t.blank()
		t.grid(part, tableWidth)
	}
	t.blank()
	t.wrap("", 0, fmt.Sprintf("%d repeats; 0 is random search, 1 the optimum; the interval is of the mean, 95 %%",
		r.Repeats))
	return t.write(w)
}

// extent is how much of its space a recording holds.
func extent(a simulate.About) string {
	if a.OfValid > 0 {
		return fmt.Sprintf("%d of %d", a.Configurations, a.OfValid)
	}
	return fmt.Sprint(a.Configurations)
}

// simulationWarnings say what the scores do not cover.
func simulationWarnings(r *simulate.Report) []string {
	var list []string
	partial := len(lists.Where(r.Recordings, func(a simulate.About) bool { return a.OfValid > 0 }))
	if partial > 0 {
		list = append(list, fmt.Sprintf("warning: %d of %d recordings hold only the part of a space that a search "+
			"chose. Random search does well on such a part: scores on it do not tell how good a strategy is.",
			partial, len(r.Recordings)))
	}
	return list
}

// EndingTable prints each recording with a line a strategy: when searches end by
// themselves, and what they then miss.
func EndingTable(w io.Writer, r *simulate.EndingReport) error {
	rows := [][]string{{"", "of", "ended", "roofline", "trials", "more left", "regret"}}
	for i, e := range r.Endings {
		if i == 0 || e.Recording != r.Endings[i-1].Recording {
			rows = append(rows, []string{e.Recording})
		}
		rows = append(rows, endingRow("  "+e.Strategy, e))
	}
	t := &table{}
	t.grid(append(rows, endingRow("all", r.All)), tableWidth)
	t.blank()
	t.wrap("", 0, fmt.Sprintf("%d repeats, %d trials at most; of: configurations; roofline: ended only since it was "+
		"reached; trials and regret: on average, at the end; more left: of the ended searches, how many were more than "+
		"%.3g %% behind the best recorded", r.Repeats, r.Budget, 100*(r.Target-1)))
	return t.write(w)
}

func endingRow(name string, e simulate.Ending) []string {
	row := []string{name, "", fmt.Sprintf("%d/%d", e.Ended, e.Runs), fmt.Sprint(e.AtRoofline)}
	if e.Configurations > 0 {
		row[1] = fmt.Sprint(e.Configurations)
	}
	if e.Ended > 0 {
		left, regret := fmt.Sprintf("%.1f %%", 100*e.LeftShare()), fmt.Sprintf("%.2f %%", 100*e.Regret)
		row = append(row, fmt.Sprintf("%.0f", e.Trials), left, regret)
	}
	return row
}
