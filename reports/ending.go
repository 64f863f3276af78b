package reports

import (
	"fmt"
	"io"

	"autotune/tuner/simulate"
)

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
