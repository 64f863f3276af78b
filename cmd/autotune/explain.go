package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
	why "autotune/tuner/explain"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
	"autotune/tuner/winners"
)

func explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "say why a winner wins, from the trials of its search; needs no GPU",
		ArgsUsage: "OPERATOR",
		Description: "How near the winner is to the device's limits, what each of its tunables costs at other values where a trial differs in that alone, " +
			"and which tunables the times depend on, with how sure that is. The trials are the cache's, or with --from those of a recording.",
		Flags:  append(winnerFlags(), jsonFlag()),
		Action: explainAction,
	}
}

// explained is what `explain --json` writes.
type explained struct {
	Problem string `json:"problem"`
	Device  string `json:"device"`
	why.Explanation
}

func explainAction(c *cli.Context) error {
	w, err := chooseWinner(c, winners.Request{Trials: true, AsRecorded: true})
	if err != nil {
		return err
	}
	e := why.Of(c.Context, subjectOf(w.best, w.Trials, w.Problem))
	document := explained{Problem: w.best.Problem.Text, Device: w.best.Device.Name, Explanation: e}
	return writeDocument(c, document, explainedText(w.best, e))
}

// subjectOf is a winner to be explained.
func subjectOf(best reports.BestConfig, trials []trial.Trial, p *operator.Problem) why.Subject {
	return why.Subject{
		Winner: best.WinningTrial(), Trials: trials, Problem: p, Limits: p.Limits,
		Bytes: best.Roofline.Bytes, Flops: best.Roofline.Flops, CopyBytesPerMS: best.Roofline.CopyBandwidth / 1000,
	}
}

// explainedText has the sentences, then a row a tunable.
func explainedText(best reports.BestConfig, e why.Explanation) string {
	told := best.Tell(reports.Details{})
	text := reports.Hang("", told.Title+" "+told.Parameters) + reports.Hang("", told.Setting) + reports.Hang("", best.Configuration.String()+": "+told.Time) + "\n"
	for _, sentence := range e.Sentences {
		text += reports.Hang("- ", output.Line(sentence))
	}
	if len(e.Tunables) == 0 {
		return text
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "tunable\tvalue\tdefault\tchanged alone\tnot tried\texplains")
	for _, t := range e.Tunables {
		share := ""
		if t.Share != nil {
			share = t.Share.String()
		}
		row := []string{t.Name, t.Value, t.Default, strings.Join(costs(t.Neighbours), ", "), strings.Join(t.Untried, ", "), share}
		for i := range row {
			row[i] = output.Line(row[i])
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	w.Flush()
	return text + "\n" + table.String()
}

// costs are what neighbours take beside the winner.
func costs(neighbours []why.Neighbour) (list []string) {
	for _, n := range neighbours {
		list = append(list, n.Value+": "+n.Cost.String())
	}
	return list
}
