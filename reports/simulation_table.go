package reports

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"autotune/tuner/simulate"
)

// SimulationTable prints a row a strategy and a column a recording.
func SimulationTable(w io.Writer, r *simulate.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, cells := range simulationHeading(r.Recordings) {
		fmt.Fprintf(t, "%s\t\n", strings.Join(cells, "\t"))
	}
	longest := 0
	for _, s := range r.Strategies {
		longest = max(longest, len(s.Strategy))
	}
	for _, s := range r.Strategies {
		fmt.Fprintf(t, "%-*s\t", longest, s.Strategy) // numbers to the right, names to the left
		for _, score := range s.Scores {
			fmt.Fprintf(t, "%.2f\t", score.Score)
		}
		fmt.Fprintf(t, "%.3f\t[%.2f, %.2f]\t\n", s.Mean, s.CI95[0], s.CI95[1])
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, a := range r.Recordings {
		if a.Interrupted {
			fmt.Fprintf(w, "%s was interrupted: only its %d configurations count\n", a.Name, a.Configurations)
		}
	}
	_, err := fmt.Fprintf(w, "%d repeats; 0 is random search, 1 the optimum; the interval is of the mean, 95 %%\n", r.Repeats)
	return err
}

// headingLines is how many lines a recording's name takes at most.
const headingLines = 3

// simulationHeading is lines of cells: the words of the recordings' names, so
// that columns stay narrow.
func simulationHeading(recordings []simulate.About) [][]string {
	cells := make([][]string, headingLines)
	for line := range cells {
		cells[line] = []string{""}
	}
	for _, name := range shortNames(recordings) {
		words := strings.SplitN(name, " ", headingLines)
		words = slices.Concat(make([]string, headingLines-len(words)), words)
		for line, word := range words {
			cells[line] = append(cells[line], word)
		}
	}
	cells[headingLines-1] = append(cells[headingLines-1], "mean", "")
	for strings.Join(cells[0], "") == "" {
		cells = cells[1:]
	}
	return cells
}

// digest is the end of the file names of recordings.
var digest = regexp.MustCompile(`^[0-9a-f]{8}$`)

// shortNames are the recordings' names without the words that all of them begin
// with and without the digests, where that still tells them apart.
func shortNames(recordings []simulate.About) []string {
	var names [][]string
	for _, a := range recordings {
		names = append(names, strings.FieldsFunc(a.Name, func(r rune) bool { return r == ' ' || r == '-' }))
	}
	first := func(words []string) bool { return len(words) > 1 && words[0] == names[0][0] }
	for len(names) > 1 && !slices.ContainsFunc(names, func(words []string) bool { return !first(words) }) {
		for i := range names {
			names[i] = names[i][1:]
		}
	}
	var short, full []string
	for _, words := range names {
		full = append(full, strings.Join(words, " "))
		if last := len(words) - 1; last > 0 && digest.MatchString(words[last]) {
			words = words[:last]
		}
		short = append(short, strings.Join(words, " "))
	}
	if len(slices.Compact(slices.Sorted(slices.Values(short)))) < len(short) {
		return full
	}
	return short
}
