package reports

import (
	"fmt"
	"io"

	"autotune/tuner/simulate"
)

// endingNameWidth is for recordings' names; a longer one loses its middle.
const endingNameWidth = 30

// EndingTable prints a line a recording and strategy: when searches end by
// themselves, and what they then miss.
func EndingTable(w io.Writer, r *simulate.EndingReport) error {
	t := &table{}
	const head = "%-*s %6s %7s %7s %9s %7s %7s"
	t.line(head, endingNameWidth, "", "of", "ended", "trials", "more left", "regret", "at most")
	for _, e := range r.Endings {
		t.ending(middle(e.Recording, endingNameWidth), e)
		t.line("  %s", e.Strategy)
	}
	t.ending("all", r.All)
	t.blank()
	t.wrap("", 0, phrases(fmt.Sprintf("%d repeats, %d trials at most. A search ends when the chance of more than %.3g %% is low, and earlier at the roofline. "+
		"Of: configurations. More left: of those ended, how many were more than that behind the best recorded.", r.Repeats, r.Budget, 100*(r.Target-1))))
	return t.write(w)
}

func (t *table) ending(name string, e simulate.Ending) {
	of := ""
	if e.Configurations > 0 {
		of = fmt.Sprint(e.Configurations)
	}
	row := fmt.Sprintf("%-*s %6s %7s", endingNameWidth, name, of, fmt.Sprintf("%d/%d", e.Ended, e.Runs))
	if e.Ended > 0 {
		row += fmt.Sprintf(" %7.0f %9s %7s %7s", e.Trials, fmt.Sprintf("%.1f %%", 100*float64(e.MoreLeft)/float64(e.Ended)),
			fmt.Sprintf("%.2f %%", 100*e.Regret), fmt.Sprintf("%.2f %%", 100*e.MostRegret))
	}
	t.line("%s", row)
}
