package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/device"
	"autotune/tuner/device/replay"
	"autotune/tuner/store"
	"autotune/tuner/strategy"
)

// defaultBudget is how many variants a search evaluates unless told otherwise.
const defaultBudget = 1000

func searchCommand() *cli.Command {
	return &cli.Command{
		Name:         "search",
		Usage:        "find the fastest correct configuration of an operator's kernels",
		ArgsUsage:    "OPERATOR",
		Description:  "Compiles, verifies and times configurations of the operator's templates on the device,\nkeeps every trial in the cache, and prints the winner with the evidence.",
		Flags:        append(problemFlags(), searchFlags()...),
		OnUsageError: usage,
		Action:       searchAction,
	}
}

func searchFlags() []cli.Flag {
	return []cli.Flag{
		deviceFlag(), cacheFlag(),
		&cli.StringFlag{Name: "strategy", Value: strategy.Default, Usage: "how to walk the space: " + strings.Join(strategy.Names(), ", ")},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the strategy"},
		&cli.IntFlag{Name: "budget", Value: defaultBudget, Usage: "evaluate at most `N` variants, remembered ones included; 0: all"},
		&cli.DurationFlag{Name: "time", Usage: "search for at most this `LONG`, as 90s"},
		&cli.BoolFlag{Name: "fresh", Usage: "do not use what the cache remembers"},
		&cli.StringFlag{Name: "json", Usage: "write the best configuration to `FILE`; - is standard output"},
		&cli.StringFlag{Name: "plot", Usage: "write PNG plots into `DIR`"},
		&cli.StringFlag{Name: "record", Usage: "write a recording of the search (T4 JSON, gzip) to `FILE`, or into a folder"},
		&cli.StringSliceFlag{Name: "baseline", Usage: "a time to compare with, as `NAME=MS`; torch_eager and torch_compile are known names"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress"},
	}
}

func searchAction(c *cli.Context) error {
	op, err := operatorArgument(c)
	if err != nil {
		return err
	}
	options, err := searchOptions(c)
	if err != nil {
		return err
	}
	if err := outputsWritable(c); err != nil {
		return err
	}
	chosen, err := openDevice(c, op, false)
	if err != nil {
		return err
	}
	defer chosen.Device.Close()
	if chosen.Device.Info().Kind != device.Replay {
		options.Store, err = openStore(c, store.Options{})
		if err != nil {
			return err
		}
		defer options.Store.Close()
	}
	show := newProgress(os.Stderr, chosen.Problem.String(), c.Bool("quiet"))
	options.Observe = show.update
	result, err := tuner.Search(c.Context, chosen.Problem, chosen.Device, options)
	show.done()
	if result == nil {
		return withCode(deviceTrouble(err), err)
	}
	if err := deliver(c, result); err != nil {
		return err
	}
	if result.Stop == tuner.Interrupted {
		return withCode(exitInterrupted, fmt.Errorf("interrupted after %d trials; what was done is kept, and the same command goes on from there", len(result.Trials)))
	}
	return err
}

// deviceTrouble is the exit code of a search that ended without a result.
func deviceTrouble(err error) int {
	if errors.Is(err, tuner.ErrNoVariant) {
		return exitNoVariant
	}
	return exitDevice
}

func searchOptions(c *cli.Context) (tuner.Options, error) {
	o := tuner.Options{
		Strategy: c.String("strategy"), Seed: c.Uint64("seed"), Budget: c.Int("budget"),
		Time: c.Duration("time"), Fresh: c.Bool("fresh"),
	}
	if o.Budget < 0 || o.Time < 0 {
		return o, badInput(errors.New("--budget and --time take a number that is not negative; 0 means no limit"))
	}
	if known := strategy.Names(); !slices.Contains(known, o.Strategy) {
		return o, badInput(fmt.Errorf("unknown strategy %q%s; there are %s", o.Strategy, suggest(o.Strategy, known), strings.Join(known, ", ")))
	}
	var err error
	o.Baselines, err = baselineTimes(c.StringSlice("baseline"))
	return o, badInput(err)
}

// deliver prints the result and writes the files asked for.
func deliver(c *cli.Context, r *tuner.Result) error {
	best := reports.FromRecord(r.Record)
	best.Tool = "autotune " + version()
	var out io.Writer = os.Stdout
	if c.String("json") == "-" {
		out = os.Stderr
	}
	if err := reports.Table(out, best); err != nil {
		return err
	}
	var files []string
	if best.Found() {
		written, err := writeBest(c, best)
		if err != nil {
			return badInput(err)
		}
		files = append(files, written...)
	}
	written, err := writeTrials(c, r, best)
	if err != nil {
		return badInput(err)
	}
	for _, f := range append(files, written...) {
		fmt.Fprintln(out, "wrote", f)
	}
	return nil
}

// writeBest writes what shows the winner; it returns the files' names.
func writeBest(c *cli.Context, best reports.BestConfig) (files []string, err error) {
	switch path := c.String("json"); path {
	case "":
	case "-":
		if err := best.WriteJSON(os.Stdout); err != nil {
			return nil, err
		}
	default:
		if err := best.WriteFile(path); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	if dir := c.String("plot"); dir != "" {
		path := filepath.Join(dir, "speedup.png")
		if err := reports.ToFile(path, func(w io.Writer) error { return reports.SpeedupPlot(w, best) }); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

// writeTrials writes what shows the search; it returns the files' names.
func writeTrials(c *cli.Context, r *tuner.Result, best reports.BestConfig) (files []string, err error) {
	if dir := c.String("plot"); dir != "" {
		path := filepath.Join(dir, "progress.png")
		if err := reports.ToFile(path, func(w io.Writer) error { return reports.ProgressPlot(w, best, r.Trials) }); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	if path := c.String("record"); path != "" {
		recording := reports.Recorded(r, best.Tool)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			path = filepath.Join(path, replay.FileName(recording.Metadata))
		}
		if err := replay.Write(path, recording); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

// outputsWritable finds out before the search, not after it, that an output
// cannot be written.
func outputsWritable(c *cli.Context) error {
	for _, flag := range []string{"json", "record"} {
		path := c.String(flag)
		if path == "" || path == "-" {
			continue
		}
		if err := writableDir(filepath.Dir(path)); err != nil {
			return badInput(fmt.Errorf("--%s %s: %w", flag, path, err))
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() && flag == "json" {
			return badInput(fmt.Errorf("--%s %s: is a folder; name a file", flag, path))
		}
	}
	if dir := c.String("plot"); dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return badInput(fmt.Errorf("--plot %s: %w", dir, err))
		}
		if err := writableDir(dir); err != nil {
			return badInput(fmt.Errorf("--plot %s: %w", dir, err))
		}
	}
	return nil
}

func writableDir(dir string) error {
	f, err := os.CreateTemp(dir, ".autotune-*")
	if err != nil {
		return fmt.Errorf("cannot write there: %w", errors.Unwrap(err))
	}
	f.Close()
	return os.Remove(f.Name())
}
