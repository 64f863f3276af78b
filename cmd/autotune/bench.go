package main

import (
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/device/trial"
	"autotune/reports"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/final"
	"autotune/tuner/winners"
)

func benchCommand() *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "time a kept winner again, in turns with PyTorch and its template's default",
		ArgsUsage: "OPERATOR",
		Description: "Takes the winner that `best` would show, verifies it, and times it in turns with the operator's default and with PyTorch in the user's python3. " +
			"Speedups have intervals. It changes nothing in the cache. Without PyTorch a line says so.",
		Flags:  append(winnerFlags(), baselineFlag(), jsonFlag(), quietFlag()),
		Action: benchAction,
	}
}

// benchBaselines are what a winner is timed beside unless told otherwise.
const benchBaselines = "torch,torch-compile,default,reference"

func benchAction(c *cli.Context) error {
	if !c.IsSet("baseline") {
		if err := c.Set("baseline", benchBaselines); err != nil {
			return err
		}
	}
	times, ways, err := baselinesOf(c)
	if err != nil {
		return err
	}
	w, err := chooseWinner(c, winners.Request{})
	if err != nil {
		return err
	}
	a, err := w.rerun(c)
	if err != nil {
		return err
	}
	defer a.close()
	record, err := benched(c, a, w.best, ways)
	if err != nil {
		return deviceTrouble(err)
	}
	for name, ms := range times {
		record.Baselines = append(record.Baselines, tuner.Baseline{Name: name, TimeMS: ms})
	}
	best := bestconfig.FromRecord(record)
	best.Tool = tool()
	return writeShown(c, shown{
		table: func(out io.Writer) error { return reports.BenchTable(out, best) },
		json:  best.WriteJSON,
	})
}

// benched times a winner in turns with its default, and then with PyTorch, called in these ways.
func benched(c *cli.Context, a rerun, best bestconfig.Document, ways []string) (r tuner.Record, err error) {
	info := a.Device.Info()
	var rivals final.Rivals // stays empty on a device without a GPU
	var noRivals error
	if info.Kind.Properties().Measures {
		torch, err := rivalsOf(c, ways)
		if noRivals = err; torch != nil {
			rivals = torch
			torch.Prepare(c.Context, a.Problem, a.Protocol)
			defer torch.Close()
		}
	}
	said := await(c, "timing the winner beside the default")
	defer said.done()
	var untuned []space.Configuration
	if defaults := a.Problem.Defaults(c.Context); len(defaults) > 0 && defaults[0].Key() != best.Key() {
		untuned = defaults[:1]
	}
	found, err := final.Around(c.Context, a.Subject, best.Configuration, untuned, time.Minute, func(int, int) {})
	if err != nil {
		return r, err
	}
	r = tuner.Record{
		Problem: a.Problem.Record(), Device: info, Protocol: a.Protocol, Winner: &found.Centre, Ceilings: found.Ceilings, At: time.Now().UTC(),
		Evidence: tuner.Evidence{Objective: best.Objective}, ReferenceDigest: best.ReferenceDigest,
		Warnings: trial.Lines(found.Centre.Warnings),
	}
	if info.Kind.Properties().Caveat == "" {
		r.Warnings = append(r.Warnings, trial.Lines(found.Centre.Time.Warnings())...)
	}
	for _, t := range found.Others {
		if t.Status != trial.OK {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the default ended as %s: %s", t.Status, t.Reason()))
			continue
		}
		r.Baselines = append(r.Baselines, tuner.Baseline{Name: "default", TimeMS: t.Time.Median, Speedup: t.Ratio, CI95: t.CI95})
	}
	if ms := found.Ceilings.ReferenceMS; ms > 0 {
		r.Baselines = append(r.Baselines, tuner.Baseline{Name: "reference", TimeMS: ms})
	}
	if len(ways) == 0 {
		return r, c.Context.Err()
	}
	said.now("timing PyTorch beside the winner")
	var beside []tuner.Baseline
	var notes []string
	if err = noRivals; err == nil {
		beside, notes, err = final.Beside(c.Context, a.Subject, best.Configuration, rivals)
	}
	r.Baselines, r.Warnings = append(r.Baselines, beside...), append(r.Warnings, notes...)
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("others were not timed beside the winner: %v", err))
	}
	return r, c.Context.Err()
}
