package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner/simulate"
	"autotune/tuner/strategy"
)

type simulateFlags struct {
	options             simulate.Options
	strategies, devices string
	ending              bool
	json, plot          string
}

func simulateCommand() *cli.Command {
	var f simulateFlags
	o := &f.options
	return &cli.Command{
		Name:      "simulate",
		Usage:     "score strategies on recorded searches, without a GPU",
		ArgsUsage: "FILE...",
		Description: "Plays strategies on recordings of whole spaces (ours, T4 JSON, Kernel Tuner caches; gzip or not) and " +
			"scores each, averaged over time: 0 is as good as random search, 1 is the optimum.",
		Flags: []cli.Flag{
			textFlag(&f.strategies, "strategy", strategy.Default, "`NAMES` of strategies, joined by commas, or all: "+strings.Join(strategy.Names(), ", ")),
			intFlag(&o.Repeats, "repeats", 50, "play each strategy `N` times, with different seeds"),
			intFlag(&o.Budget, "budget", 0, "end a run after `N` evaluations even if there is time; 0: no limit"),
			seedFlag(&o.Seed, "`SEED` of the first repeat"),
			textFlag(&f.devices, "devices", "1", "let `N` devices evaluate side by side; 1,8,64 compares numbers"),
			intFlag(&o.Ahead, "ahead", 0, "ask the strategy for `N` configurations ahead of each device"),
			boolFlag(&o.Partial, "partial", "also score on recordings that hold only the part of a space that a search chose"),
			boolFlag(&f.ending, "ending", "in place of scores, show when searches end by themselves and what they then miss"),
			textFlag(&f.json, "json", "", "write the scores to `FILE`; - is standard output, in place of the table"),
			plotFlag(&f.plot, "; - is standard output, in place of the table"),
		},
		Action: action(f.simulate),
	}
}

func (f *simulateFlags) simulate(ctx context.Context, l line) error {
	if err := distinct("json", f.json, "plot", f.plot); err != nil {
		return err
	}
	if err := f.check(l); err != nil {
		return err
	}
	recordings, err := loadRecordings(ctx, l.arguments)
	if err != nil {
		return err
	}
	said := view{}.await("playing strategies on " + output.Count(len(recordings), "recording"))
	defer said.Done()
	if f.ending {
		report, err := simulate.Endings(ctx, recordings, f.options)
		said.Done()
		if err != nil {
			return err
		}
		return shown{
			table: func(w io.Writer) error { return reports.EndingTable(w, report) },
			json:  func(w io.Writer) error { return printJSON(w, report) },
		}.write(f.json, "")
	}
	report, err := simulate.Evaluate(ctx, recordings, f.options)
	said.Done()
	if errors.Is(err, simulate.ErrPartial) {
		return fmt.Errorf("%w; --partial scores it all the same", err)
	}
	if err != nil {
		return err
	}
	return shown{
		table: func(w io.Writer) error { return reports.SimulationTable(w, report) },
		json:  func(w io.Writer) error { return printJSON(w, report) },
		plot:  func(w io.Writer) error { return reports.SimulationPlot(w, report) },
		name:  "simulation.png",
	}.write(f.json, f.plot)
}

const (
	mostRepeats = 10000 // far more than an interval can need
	mostAhead   = 1000  // more than any search asks ahead of a device
)

// check reads and checks what the flags say of the simulation.
func (f *simulateFlags) check(l line) error {
	o := &f.options
	for text := range strings.SplitSeq(f.devices, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > device.MostWorkers {
			return fmt.Errorf("--devices %s: want numbers from 1 to %d, as 1,8,64", f.devices, device.MostWorkers)
		}
		o.Devices = append(o.Devices, n)
	}
	switch {
	case o.Repeats < 1 || o.Repeats > mostRepeats:
		return fmt.Errorf("--repeats %d: want a number from 1 to %d", o.Repeats, mostRepeats)
	case o.Budget < 0:
		return fmt.Errorf("--budget %d: want a number that is not negative; 0 is no limit", o.Budget)
	case o.Ahead < 0 || o.Ahead > mostAhead:
		return fmt.Errorf("--ahead %d: want a number from 0 to %d", o.Ahead, mostAhead)
	case f.ending && f.plot != "":
		return errors.New("--ending has nothing to plot")
	case f.ending && len(l.allGiven("devices", "ahead")) > 0:
		return errors.New("--ending is about one device")
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

// loadRecordings reads recordings. Their names may be patterns, for shells that do not expand them.
func loadRecordings(ctx context.Context, named []string) ([]*simulate.Recording, error) {
	var files []string
	for _, name := range named {
		matches, err := filepath.Glob(name)
		if err != nil || len(matches) == 0 {
			matches = []string{name} // reading it will tell what is wrong
		}
		files = append(files, matches...)
	}
	if len(files) == 0 {
		return nil, errors.New("which recordings? Name their files, as in: autotune simulate a.json.gz b.json.gz")
	}
	recordings := make([]*simulate.Recording, len(files))
	load, ctx := errgroup.WithContext(ctx)
	load.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range files {
		load.Go(func() (err error) {
			if err = ctx.Err(); err == nil {
				recordings[i], err = simulate.Load(ctx, file)
			}
			return err
		})
	}
	return recordings, load.Wait()
}
