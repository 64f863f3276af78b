package main

import (
	"context"
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"autotune/pack/prove"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/winners"
)

type benchFlags struct {
	winnerFlags
	baselines []string
	json      string
	view      view
}

func benchCommand() *cli.Command {
	var f benchFlags
	return command("bench OPERATOR", "time a kept winner again, in turns with PyTorch and its template's default",
		"Takes the winner that `best` would show, verifies it, and times it in turns with the operator's "+
			"default and with PyTorch in the user's python3. Speedups have intervals. It changes nothing in the cache. "+
			"Without PyTorch a line says so.",
		f.bench, append(f.flags(), baselineFlag(&f.baselines), jsonFlag(&f.json), f.view.quietFlag())...)
}

func (f *benchFlags) bench(ctx context.Context, l line) error {
	if f.baselines == nil {
		f.baselines = []string{"torch", "torch-compile"}
	}
	times, ways, err := baselinesOf(f.baselines)
	if err != nil {
		return err
	}
	others := len(ways) > 0
	w, err := f.choose(ctx, l, winners.Request{})
	if err != nil {
		return err
	}
	a, err := w.rerun(ctx, l, f.view, f.device)
	if err != nil {
		return err
	}
	defer a.close()
	if !a.Device.Info().Kind.Properties().Measures {
		ways = nil
	}
	torch, err := rivals(deviceFlags{device: f.device}, 0, ways)
	if err != nil && !errors.Is(err, errOneGPU) {
		return err
	}
	o := prove.BenchOptions{Others: others, NoRivals: err, Await: func(what string) (now func(string), done func()) {
		said := f.view.await(what)
		return said.Now, said.Done
	}}
	if torch != nil {
		defer torch.Close()
		torch.Prepare(ctx, a.Problem, a.Protocol)
		o.Rivals = torch
	}
	record, err := prove.Bench(ctx, a.Subject, w.best, o)
	if err != nil {
		return deviceTrouble(err)
	}
	for name, ms := range times {
		record.Baselines = append(record.Baselines, tuner.Baseline{Name: name, TimeMS: ms})
	}
	best := bestconfig.FromRecord(record)
	best.Tool = tool()
	return write(f.json, func(out io.Writer) error { return reports.BenchTable(out, best) }, best.WriteJSON)
}
