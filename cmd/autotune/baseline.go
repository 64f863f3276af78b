package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"autotune/device/trial"
	"autotune/tuner"
	"autotune/tuner/devices"
	"autotune/tuner/torchtimes"
)

// baselineWays lists the words that --baseline accepts, each with the ways in which PyTorch is timed for it. A search
// always measures the untuned default and the reference, and times PyTorch unless --baseline is none.
var baselineWays = []struct {
	word string
	ways []string
}{
	{"torch", []string{torchtimes.Eager, torchtimes.EagerFP32}},
	{"torch-compile", []string{torchtimes.Compile}},
	{"default", nil},
	{"reference", nil},
	{"none", nil},
}

func baselineWords() (words []string) {
	for _, b := range baselineWays {
		words = append(words, b.word)
	}
	return words
}

func baselineFlag(to *[]string) flag {
	return listFlag(to, "baseline", "time PyTorch beside the winner, in turns: `WHAT` is torch, torch-compile or both "+
		"with a comma; none: PyTorch is left out; or a time measured elsewhere, as torch_eager=7.1")
}

// baselinesOf parses --baseline into times that were measured elsewhere and the ways in which to time PyTorch.
func baselinesOf(given []string) (times map[string]float64, ways []string, err error) {
	times = map[string]float64{}
	for _, word := range strings.Split(strings.Join(given, ","), ",") {
		if word == "" {
			continue
		}
		if name, value, timed := strings.Cut(word, "="); timed {
			if times[name], err = strconv.ParseFloat(value, 64); err != nil {
				return nil, nil, fmt.Errorf("--baseline %s: want a time in milliseconds, as torch_eager=7.1", word)
			}
			continue
		}
		at := slices.Index(baselineWords(), word)
		if at < 0 {
			return nil, nil, oneOf("baseline", word, baselineWords())
		}
		ways = append(ways, baselineWays[at].ways...)
	}
	return times, ways, checkBaselines(times)
}

func checkBaselines(times map[string]float64) error {
	for name, ms := range times {
		if err := oneOf("baseline", name, torchtimes.Ways()); err != nil {
			return err
		}
		if err := trial.CheckMS(ms); err != nil {
			return fmt.Errorf("baseline %s: %w", name, err)
		}
	}
	return nil
}

// rivals starts PyTorch, to be timed in the given ways on the GPU that the flags name; if ways is empty, rivals returns
// nil.
func rivals(d deviceFlags, wait time.Duration, ways []string) (*torchtimes.Torch, error) {
	if len(ways) == 0 {
		return nil, nil
	}
	spec, err := devices.Parse(d.device)
	if err != nil {
		return nil, err
	}
	gpu, one := spec.OneGPU()
	if !one || d.nats.login.URL != "" {
		return nil, errOneGPU
	}
	return torchtimes.New(gpu, wait, ways...), nil
}

var errOneGPU = errors.New("--baseline times PyTorch on one GPU of this machine, as --device cuda:0 names one; or " +
	"give times, as torch_eager=7.1")

// rivalsInto lets a search time PyTorch beside its winners: in the ways that --baseline names or, without the flag, in
// eager mode and by torch.compile if there is one GPU. For a list of problems, rivalsInto leaves out torch.compile,
// which takes seconds for each problem. (The function replace of a pack times torch.compile in the user's program.) The
// returned function end stops the PyTorch process.
func rivalsInto(o *tuner.Options, given []string, d deviceFlags, several bool) (end func(), err error) {
	end = func() {}
	_, ways, err := baselinesOf(given)
	if err != nil {
		return end, err
	}
	wait := time.Duration(0)
	if o.Unasked = len(given) == 0; o.Unasked {
		ways, wait = []string{torchtimes.Eager, torchtimes.EagerFP32}, torchtimes.CompileWait
		if !several {
			ways = append(ways, torchtimes.Compile)
		}
	}
	torch, err := rivals(d, wait, ways)
	if o.Unasked && errors.Is(err, errOneGPU) {
		return end, nil
	}
	if torch != nil {
		o.Rivals = torch
		end = func() { _ = torch.Close() }
	}
	return end, err
}
