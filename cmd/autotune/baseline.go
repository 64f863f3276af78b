package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/tuner"
	"autotune/tuner/devices"
	"autotune/tuner/torchtimes"
)

// baselineNames are the baselines whose times may be given.
var baselineNames = torchtimes.Ways()

// baselineWay is a word of --baseline, and in which ways it has PyTorch called.
type baselineWay struct {
	word string
	ways []string
}

// baselineWays are all of them. The untuned default and the reference are measured in any case.
var baselineWays = []baselineWay{
	{"torch", []string{torchtimes.Eager, torchtimes.EagerFP32}},
	{"torch-compile", []string{torchtimes.Compile}},
	{"cudnn-benchmark", []string{torchtimes.CuDNNBenchmark}},
	{"channels-last", []string{torchtimes.ChannelsLast}},
	{"default", nil},
	{"reference", nil},
	{noBaseline, nil},
}

// noBaseline leaves out PyTorch, which takes part in a search otherwise.
const noBaseline = "none"

// usualWays are the ways in which PyTorch is called unless told otherwise: of one problem, and of each of several. Several
// problems are a program's, and torch.compile takes seconds for each. What it makes of the program's own chains is
// measured in the program, by a pack's replace.
func usualWays(several bool) []string {
	if several {
		return []string{torchtimes.Eager, torchtimes.EagerFP32}
	}
	return []string{torchtimes.Eager, torchtimes.EagerFP32, torchtimes.Compile}
}

func baselineFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "baseline", Usage: "time PyTorch beside the winner, in turns: `WHAT` is torch, torch-compile, cudnn-benchmark or channels-last, or several with commas; " +
		"none: PyTorch is left out; or a time measured elsewhere, as torch_eager=7.1"}
}

// baselinesOf are the times that --baseline gives, and the ways in which PyTorch is to be timed.
func baselinesOf(c *cli.Context) (times map[string]float64, ways []string, err error) {
	times = map[string]float64{}
	for _, given := range strings.Split(strings.Join(c.StringSlice("baseline"), ","), ",") {
		if given == "" {
			continue
		}
		if name, value, timed := strings.Cut(given, "="); timed {
			ms, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, nil, fmt.Errorf("--baseline %s: want a time in milliseconds, as torch_eager=7.1", given)
			}
			times[name] = ms
			continue
		}
		at := slices.IndexFunc(baselineWays, func(b baselineWay) bool { return b.word == given })
		if at < 0 {
			return nil, nil, oneOf("baseline", given, baselineWords())
		}
		ways = append(ways, baselineWays[at].ways...)
	}
	return times, ways, checkBaselines(times)
}

func baselineWords() (words []string) {
	return lists.Of(baselineWays, func(b baselineWay) string { return b.word })
}

func checkBaselines(times map[string]float64) error {
	for name, ms := range times {
		if err := oneOf("baseline", name, baselineNames); err != nil {
			return err
		}
		if err := trial.CheckMS(ms); err != nil {
			return fmt.Errorf("baseline %s: %w", name, err)
		}
	}
	return nil
}

// rivalsOf is PyTorch, to be timed in these ways; nil where there are none.
func rivalsOf(c *cli.Context, ways []string) (*torchtimes.Torch, error) {
	if len(ways) == 0 {
		return nil, nil
	}
	gpu, one, err := oneGPU(c)
	if err != nil {
		return nil, err
	}
	if !one {
		return nil, errors.New("--baseline times PyTorch on one GPU of this machine, as --device cuda:0 names one; or give times, as torch_eager=7.1")
	}
	return torchtimes.New(gpu, 0, ways...), nil
}

// oneGPU is the number of the GPU of this machine that a search has for itself, as far as --device tells.
func oneGPU(c *cli.Context) (ordinal int, ok bool, err error) {
	spec, err := devices.Parse(c.String("device"))
	if err != nil {
		return 0, false, err
	}
	ordinal, ok = spec.OneGPU()
	return ordinal, ok && !c.IsSet("nats"), nil
}

// rivalsInto has PyTorch timed beside the winners of searches: as --baseline says, and else in the usual ways where it is.
// What it gives ends PyTorch.
func rivalsInto(c *cli.Context, o *tuner.Options) (end func(), err error) {
	end = func() {}
	_, ways, err := baselinesOf(c)
	if err != nil {
		return end, err
	}
	torch, err := rivalsOf(c, ways)
	if err != nil {
		return end, err
	}
	if len(c.StringSlice("baseline")) == 0 {
		gpu, one, err := oneGPU(c)
		if err != nil || !one {
			return end, err
		}
		torch, o.Unasked = torchtimes.New(gpu, torchtimes.CompileWait, usualWays(c.IsSet("problems"))...), true
	}
	if torch == nil {
		return end, nil
	}
	o.Rivals = torch
	return func() { _ = torch.Close() }, nil
}
