package reports

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"autotune/tuner/simulate"
)

// The columns of the simulation's table.
const (
	recordingWidth = 50 // a longer name loses its middle
	scoreWidth     = 8
	meanWidth      = 8
	intervalWidth  = 17
)

// SimulationTable prints a line a recording, then a row a strategy and a column
// a recording, as many side by side as have room.
func SimulationTable(w io.Writer, r *simulate.Report) error {
	t := &table{}
	t.line("%-*s%8s%18s", recordingWidth, "recording", "column", "configurations")
	for i, name := range shortNames(r.Recordings) {
		t.line("%-*s%8d%18s", recordingWidth, middle(name, recordingWidth-1), i+1, extent(r.Recordings[i]))
	}
	for _, line := range simulationWarnings(r) {
		t.blank()
		t.wrap("", 0, phrases(line))
	}
	longest := 0
	for _, s := range r.Strategies {
		longest = max(longest, len(s.Label()))
	}
	fit := max(1, (tableWidth-longest-meanWidth-intervalWidth)/scoreWidth)
	for first := 0; first < len(r.Recordings); first += fit {
		last := min(first+fit, len(r.Recordings))
		t.scores(r.Strategies, longest, first, last, last == len(r.Recordings))
	}
	t.blank()
	t.wrap("", 0, phrases(fmt.Sprintf("%d repeats; 0 is random search, 1 the optimum; the interval is of the mean, 95 %%", r.Repeats)))
	return t.write(w)
}

// extent is how much of its space a recording holds.
func extent(a simulate.About) string {
	if a.OfValid > 0 {
		return fmt.Sprintf("%d of %d", a.Configurations, a.OfValid)
	}
	return fmt.Sprint(a.Configurations)
}

// scores is a row a strategy with its scores on recordings from first to before last. At
// the end stand the columns about all recordings.
func (t *table) scores(strategies []simulate.Standing, longest, first, last int, end bool) {
	t.blank()
	head := strings.Repeat(" ", longest)
	for i := first; i < last; i++ {
		head += fmt.Sprintf("%*d", scoreWidth, i+1)
	}
	if end {
		head += fmt.Sprintf("%*s", meanWidth, "mean")
	}
	t.line("%s", head)
	for _, s := range strategies {
		row := fmt.Sprintf("%-*s", longest, s.Label())
		for _, score := range s.Scores[first:last] {
			row += fmt.Sprintf("%*.2f", scoreWidth, score.Score)
		}
		if end {
			row += fmt.Sprintf("%*.3f%*s", meanWidth, s.Mean, intervalWidth, fmt.Sprintf("[%.2f, %.2f]", s.CI95[0], s.CI95[1]))
		}
		t.line("%s", row)
	}
}

// simulationWarnings say what scores do not tell.
func simulationWarnings(r *simulate.Report) []string {
	var list []string
	partial := 0
	for _, a := range r.Recordings {
		if a.OfValid > 0 {
			partial++
		}
	}
	if partial > 0 {
		list = append(list, fmt.Sprintf("warning: %d of %d recordings hold only the part of a space that a search chose. Random search does well on such a part: scores on it do not tell how good a strategy is.",
			partial, len(r.Recordings)))
	}
	for _, a := range r.Recordings {
		if a.Interrupted {
			list = append(list, fmt.Sprintf("%s was interrupted: only its %d configurations count", a.Name, a.Configurations))
		}
	}
	return list
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

// EndingTable prints each recording with a line a strategy: when searches end by
// themselves, and what they then miss.
func EndingTable(w io.Writer, r *simulate.EndingReport) error {
	t := &table{}
	t.line("%-20s %6s %8s %9s %8s %10s %8s", "", "of", "ended", "roofline", "trials", "more left", "regret")
	names := shortNames(r.Recordings)
	for i, e := range r.Endings {
		if i == 0 || e.Recording != r.Endings[i-1].Recording {
			t.line("%s", middle(names[0], tableWidth))
			names = names[1:]
		}
		t.ending("  "+e.Strategy, e)
	}
	t.ending("all", r.All)
	t.blank()
	t.wrap("", 0, phrases(fmt.Sprintf("%d repeats, %d trials at most; of: configurations; roofline: ended only since it was reached; trials and regret: on average, at the end; "+
		"more left: of those ended, how many were more than %.3g %% behind the best recorded", r.Repeats, r.Budget, 100*(r.Target-1))))
	return t.write(w)
}

func (t *table) ending(name string, e simulate.Ending) {
	of := ""
	if e.Configurations > 0 {
		of = fmt.Sprint(e.Configurations)
	}
	row := fmt.Sprintf("%-20s %6s %8s %9d", name, of, fmt.Sprintf("%d/%d", e.Ended, e.Runs), e.AtRoofline)
	if e.Ended > 0 {
		row += fmt.Sprintf(" %8.0f %10s %8s", e.Trials, fmt.Sprintf("%.1f %%", 100*e.LeftShare()), fmt.Sprintf("%.2f %%", 100*e.Regret))
	}
	t.line("%s", row)
}
