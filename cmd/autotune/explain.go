package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports"
	"autotune/tuner/bestconfig"
	why "autotune/tuner/explain"
	"autotune/tuner/final"
	"autotune/tuner/winners"
)

type explainFlags struct {
	winnerFlags
	json    string
	measure bool
	time    time.Duration
	view    view
}

// explained is the document that `explain --json` writes.
type explained struct {
	Problem    string `json:"problem"`
	Device     string `json:"device"`
	MeasuredOn string `json:"measured_on,omitempty"` // the device that timed the neighbours, if any did
	why.Explanation
}

func explainCommand() *cli.Command {
	var f explainFlags
	return command("explain OPERATOR", "say why a winner wins, from the trials of its search; needs no GPU",
		"How near the winner is to the device's limits, and what each of its tunables costs at other values, "+
			"from the trials that differ in that tunable alone. The trials are the cache's, or with --from those of a "+
			"recording. With --measure each tunable's default and neighbours are timed in turns with the winner; --device "+
			"then names the device, too.",
		f.explain, append(f.flags(), jsonFlag(&f.json),
			boolFlag(&f.measure, "measure", "time the winner's neighbours in turns with it, on its device"),
			timeFlag(&f.time, "time", 30*time.Second, "with --measure: take turns for about this `LONG`"),
			f.view.quietFlag())...)
}

func (f *explainFlags) explain(ctx context.Context, l line) error {
	w, err := f.choose(ctx, l, winners.Request{Trials: true, AsRecorded: true})
	if err != nil {
		return err
	}
	addPeaks(&w.best)
	s := subject(w.best, w.Trials, w.Problem)
	document, text := explained{Problem: w.best.Problem.Text, Device: w.best.Device.Name}, reports.WinnerText(w.best)
	if f.measure {
		here, err := f.around(ctx, l, w, &s)
		if err != nil {
			return err
		}
		document.MeasuredOn = here.Name
	}
	document.Explanation = why.Of(ctx, s)
	if f.measure {
		text += reports.Hang("", fmt.Sprintf("measured now in turns with its neighbours on %s: %s", document.MeasuredOn,
			reports.FormatMS(document.TimeMS)))
	}
	return writeDocument(f.json, document, text+"\n"+reports.ExplanationText(document.Explanation))
}

func subject(best bestconfig.Document, trials []trial.Trial, p *operator.Problem) why.Subject {
	peak, of := best.Peak()
	return why.Subject{
		Peak: peak / 1000, PeakOf: of,
		Winner: best.WinningTrial(), Trials: trials, Problem: p, Limits: p.Limits,
		Bytes: best.Roofline.Bytes, Flops: best.Roofline.Flops, CopyBytesPerMS: best.Roofline.CopyBandwidth / 1000,
	}
}

// around measures the times of the winner's neighbours, which differ from the winner in one tunable, for the
// explanation. If the winner was found on another device, the explanation gets the time and the limits of the present
// device, too.
func (f *explainFlags) around(ctx context.Context, l line, w chosen, s *why.Subject) (here device.Info, err error) {
	a, err := w.rerun(ctx, l, f.view, f.device)
	if err != nil {
		return here, err
	}
	defer a.close()
	s.Problem, s.Limits = a.Problem, a.Problem.Limits
	changes := s.Changes(ctx)
	said := f.view.await("compiling " + output.Count(len(changes)+1, "kernel"))
	defer said.Done()
	found, err := final.Around(ctx, a.Subject, w.best.Configuration, changes, f.time, func(done, of int) {
		said.Now(fmt.Sprintf("timing the winner's neighbours in turns, %d of %d", done, of))
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
