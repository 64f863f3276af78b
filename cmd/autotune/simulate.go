package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner/simulate"
	"autotune/tuner/strategy"
)

type simulateFlags struct {
	options          simulate.Options
	strategies, json string
}

func simulateCommand() *cli.Command {
	var f simulateFlags
	o := &f.options
	return command("simulate FILE...", "score strategies on recorded searches, without a GPU",
		"Plays strategies on recordings of whole spaces (ours, T4 JSON, Kernel Tuner caches; gzip or not) and "+
			"scores each, averaged over time: 0 is as good as random search, 1 is the optimum.",
		f.simulate,
		textFlag(&f.strategies, "strategy", strategy.Default, "`NAMES` of strategies, joined by commas, or all: "+
			strings.Join(strategy.Names(), ", ")),
		intFlag(&o.Repeats, "repeats", 50, "play each strategy `N` times, with different seeds"),
		seedFlag(&o.Seed, "`SEED` of the first repeat"),
		jsonFlag(&f.json))
}

func (f *simulateFlags) simulate(ctx context.Context, l line) error {
	if err := f.check(); err != nil {
		return err
	}
	recordings, err := loadRecordings(ctx, l.arguments)
	if err != nil {
		return err
	}
	said := view{}.await("playing strategies on " + output.Count(len(recordings), "recording"))
	defer said.Done()
	report, err := simulate.Evaluate(ctx, recordings, f.options)
	said.Done()
	if err != nil {
		return err
	}
	return write(f.json, func(w io.Writer) error { return reports.SimulationTable(w, report) }, asJSON(report))
}

const mostRepeats = 10000 // far more than a confidence interval needs

func (f *simulateFlags) check() error {
	o := &f.options
	if o.Repeats < 1 || o.Repeats > mostRepeats {
		return fmt.Errorf("--repeats %d: want a number from 1 to %d", o.Repeats, mostRepeats)
	}
	if o.Strategies = strategy.Names(); f.strategies != "all" {
		o.Strategies = lists.Of(strings.Split(f.strategies, ","), strings.TrimSpace)
	}
	for _, name := range o.Strategies {
		if err := oneOf("strategy", name, strategy.Names()); err != nil {
			return err
		}
	}
	return nil
}

func loadRecordings(ctx context.Context, files []string) ([]*simulate.Recording, error) {
	if len(files) == 0 {
		return nil, errors.New("which recordings? Name their files, as in: autotune simulate a.json.gz b.json.gz")
	}
	var recordings []*simulate.Recording
	for _, file := range files {
		r, err := simulate.Load(ctx, file)
		if err != nil {
			return nil, err
		}
		recordings = append(recordings, r)
	}
	return recordings, nil
}
