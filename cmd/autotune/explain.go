package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports"
	"autotune/tuner/bestconfig"
	why "autotune/tuner/explain"
	"autotune/tuner/final"
	"autotune/tuner/winners"
)

func explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "say why a winner wins, from the trials of its search; needs no GPU",
		ArgsUsage: "OPERATOR",
		Description: "How near the winner is to the device's limits, and what each of its tunables costs at other values, from the trials that differ in " +
			"that tunable alone. The trials are the cache's, or with --from those of a recording. With --measure each tunable's default and " +
			"neighbours are timed in turns with the winner; --device then names the device, too.",
		Flags: append(winnerFlags(), jsonFlag(),
			&cli.BoolFlag{Name: "measure", Usage: "time the winner's neighbours in turns with it, on its device"},
			&cli.DurationFlag{Name: "time", Value: 30 * time.Second, Usage: "with --measure: take turns for about this `LONG`"},
			quietFlag()),
		Action: explainAction,
	}
}

// explained is what `explain --json` writes.
type explained struct {
	Problem string `json:"problem"`
	Device  string `json:"device"`
	// MeasuredOn is the device that timed neighbours; "": none did.
	MeasuredOn string `json:"measured_on,omitempty"`
	why.Explanation
}

func explainAction(c *cli.Context) error {
	w, err := chooseWinner(c, winners.Request{Trials: true, AsRecorded: true})
	if err != nil {
		return err
	}
	withPeaks(&w.best)
	s := subjectOf(w.best, w.Trials, w.Problem)
	document := explained{Problem: w.best.Problem.Text, Device: w.best.Device.Name}
	if c.Bool("measure") {
		here, err := measureAround(c, w, &s)
		if err != nil {
			return err
		}
		document.MeasuredOn = here.Name
	}
	e := why.Of(c.Context, s)
	document.Explanation = e
	return writeDocument(c, document, explainedText(w.best, document))
}

// measureAround times the changes of a winner that are worth it, and adds them to the subject.
// Where that is another device than the winner's, the winner's time and the limits are of there, too.
func measureAround(c *cli.Context, w chosen, s *why.Subject) (here device.Info, err error) {
	a, err := w.rerun(c)
	if err != nil {
		return here, err
	}
	defer a.close()
	s.Problem, s.Limits = a.Problem, a.Problem.Limits
	changes := s.Changes(c.Context)
	said := await(c, "compiling "+output.Count(len(changes)+1, "kernel"))
	defer said.done()
	found, err := final.Around(c.Context, a.Subject, w.best.Configuration, changes, c.Duration("time"), func(done, of int) {
		said.now(fmt.Sprintf("timing the winner's neighbours in turns, %d of %d", done, of))
	})
	if err != nil {
		return here, deviceTrouble(err)
	}
	found.Centre.At = s.Winner.At
	s.Winner, s.Measured = found.Centre, found.Others
	if found.Ceilings.CopyBytesPerMS > 0 {
		s.CopyBytesPerMS = found.Ceilings.CopyBytesPerMS
	}
	return a.Device.Info(), nil
}

// subjectOf is a winner to be explained.
func subjectOf(best bestconfig.Document, trials []trial.Trial, p *operator.Problem) why.Subject {
	peak, of := best.Peak()
	return why.Subject{
		Peak: peak / 1000, PeakOf: of,
		Winner: best.WinningTrial(), Trials: trials, Problem: p, Limits: p.Limits,
		Bytes: best.Roofline.Bytes, Flops: best.Roofline.Flops, CopyBytesPerMS: best.Roofline.CopyBandwidth / 1000,
	}
}

// explainedText has the sentences, then a row a tunable.
func explainedText(best bestconfig.Document, e explained) string {
	told := reports.TextsOf(best, reports.Details{})
	text := reports.Hang("", told.Title+" "+told.Parameters) + reports.Hang("", told.Setting) + reports.Hang("", best.Configuration.String()+": "+told.Time)
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
		row := []string{t.Name, t.Value, t.Default, strings.Join(costs(t.Neighbours), ", "), strings.Join(t.Untried, ", ")}
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
	return lists.Of(neighbours, func(n why.Neighbour) string { return n.Value + ": " + n.Cost.String() })
}
