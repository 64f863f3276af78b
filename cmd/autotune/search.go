package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/strategy"
)

// A search ends, unless told otherwise, after so many variants or so long.
const (
	defaultBudget = 1000
	defaultTime   = 30 * time.Second
)

func searchCommand() *cli.Command {
	return &cli.Command{
		Name:        "search",
		Usage:       "find the fastest correct configuration of an operator's kernels",
		ArgsUsage:   "OPERATOR",
		Description: "Compiles, verifies and times configurations of the operator's templates on the device, keeps every trial in the cache, and prints the winner with the evidence.",
		Flags:       searchFlags(),
		Action:      searchAction,
	}
}

func searchFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		shapesFlag(), setFlag(), mathFlag(),
		&cli.StringFlag{Name: "run", Usage: "give the run this `NAME`: started again with it, it skips problems whose search has ended"},
		&cli.StringFlag{Name: "problems", Usage: "search every problem of a YAML or JSON `FILE`: a list of operator, shape, parameters, math, baselines"},
	}, partFlags(), conditionFlags(), []cli.Flag{
		configFlag(), devicesFlag(), cacheFlag(),
	}, natsFlags(), []cli.Flag{
		&cli.StringFlag{Name: "gpu", Usage: "with --nats: only workers whose device has `NAME` in its name, as h100; else all like the first"},
		&cli.BoolFlag{Name: "no-cache", Usage: "neither use nor keep trials"},
		&cli.StringFlag{Name: "strategy", Value: strategy.Default, Usage: "how to walk the space: " + strings.Join(strategy.Names(), ", ")},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the strategy"},
		&cli.IntFlag{Name: "budget", Value: defaultBudget, Usage: "evaluate at most `N` variants, remembered ones included; 0: all"},
		&cli.DurationFlag{Name: "time", Value: defaultTime, Usage: "search for at most this `LONG`, as 90s or 10m; 0: no limit"},
		&cli.Float64Flag{Name: "target", Value: strategy.Target, Usage: "end early when a gain by this `FACTOR` is unlikely (under 5 %); 0: never. Unless given, it is off with --budget, with another --strategy and without a GPU"},
		objectiveFlag(),
		&cli.BoolFlag{Name: "fresh", Usage: "do not use what the cache remembers"},
		&cli.BoolFlag{Name: "energy", Usage: "measure the winner's energy per launch also in a search of under 6 s"},
		&cli.StringFlag{Name: "json", Usage: "write the best configuration to `FILE`; - is standard output"},
		plotFlag("; a search draws several"),
		&cli.StringFlag{Name: "record", Usage: "write a recording of the search (T4 JSON, gzip) to `FILE`, or into a folder"},
		&cli.StringSliceFlag{Name: "baseline", Usage: "a time to compare with, as `NAME=MS`; NAME is torch_eager, torch_compile or torch_eager_fp32"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress"},
		verboseFlag(), colorFlag(),
	})
}

func searchOptions(c *cli.Context) (batch.Options, error) {
	o := batch.Options{Objective: c.String("objective"), AnyTarget: c.IsSet("target"), Tool: tool()}
	o.Search = tuner.Options{
		Strategy: c.String("strategy"), Seed: c.Uint64("seed"), Budget: c.Int("budget"),
		Time: c.Duration("time"), Fresh: c.Bool("fresh"), Energy: c.Bool("energy"), Target: c.Float64("target"),
	}
	s := &o.Search
	if s.Budget < 0 || s.Time < 0 {
		return o, badInput(errors.New("--budget and --time take a number that is not negative; 0 means no limit"))
	}
	if c.Bool("no-cache") && c.IsSet("cache") {
		return o, badInput(errors.New("--no-cache keeps nothing in the file that --cache names; give one of them"))
	}
	if s.Target != 0 && !(s.Target > 1 && s.Target <= math.MaxFloat64) {
		return o, badInput(fmt.Errorf("--target %v: want a factor above 1, as 1.05, or 0 to search on", s.Target))
	}
	// A number of variants that is given is wanted. And the estimate of what is left was
	// only held against searches of the default strategy.
	if !c.IsSet("target") && (c.IsSet("budget") || s.Strategy != strategy.Default) {
		s.Target = 0
	}
	if err := checkColor(c); err != nil {
		return o, err
	}
	var err error
	if s.Conditions, err = conditionsOf(c); err != nil {
		return o, err
	}
	return o, oneOf("strategy", s.Strategy, strategy.Names())
}
