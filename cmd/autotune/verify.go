package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/tuner"
	"autotune/tuner/device"
	"autotune/tuner/devices"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// verifyBudget is how many variants `verify` checks unless told otherwise.
const verifyBudget = 50

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check variants against the operator's reference, without a search",
		ArgsUsage: "OPERATOR",
		Flags: slices.Concat(problemFlags(), partFlags(), []cli.Flag{
			configFlag(), deviceFlag(),
			&cli.BoolFlag{Name: "sanitize", Usage: "emulator: also find out-of-bounds and misaligned accesses and undefined behaviour"},
			&cli.IntFlag{Name: "budget", Value: verifyBudget, Usage: "check the defaults and `N` variants in all, drawn at random; 0: all"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the draw and of the inputs"},
			&cli.StringFlag{Name: "inputs", Usage: "`DISTRIBUTION` of the inputs, of those that the operator lists (default: its first): " + strings.Join(operator.Distributions(), ", ")},
			&cli.BoolFlag{Name: "exitfirst", Aliases: []string{"x"}, Usage: "end with the first variant that fails"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress"},
			verboseFlag(),
		}),
		Action: verifyAction,
	}
}

func verifyAction(c *cli.Context) error {
	if c.Bool("sanitize") && c.String("device") != "emulator" && c.String("device") != "auto" {
		return badInput(errors.New("--sanitize needs the emulator: add --device emulator (on a GPU, run compute-sanitizer)"))
	}
	if c.Bool("sanitize") {
		if err := c.Set("device", string(device.Emulator)); err != nil {
			return err
		}
	}
	if c.Int("budget") < 0 {
		return badInput(errors.New("--budget takes a number that is not negative; 0 checks all"))
	}
	op, err := operatorArgument(c)
	if err != nil {
		return err
	}
	request, err := problemRequest(c, op)
	if err != nil {
		return err
	}
	opener, err := deviceOpener(c, devices.Options{Sanitize: c.Bool("sanitize"), Runs: true})
	if err != nil {
		return err
	}
	defer opener.Close()
	opened, err := opener.Open(c.Context, op, request)
	if err != nil {
		return err
	}
	if kind := opened.Device.Info().Kind.Properties(); !kind.Compiles {
		return withCode(exitDevice, fmt.Errorf("%s cannot verify anything; use --device emulator or a GPU", kind.Label))
	}
	options.Strategy, options.Seed, options.Budget = "random", c.Uint64("seed"), c.Int("budget")
	result, err := searchShown(c, opened, options)
	if result == nil {
		return err
	}
	return printVerdict(c, result)
}

// verifyProtocol runs a variant once, on the inputs that the flags ask for. One
// configuration alone is timed as well, where times mean something.
func verifyProtocol(c *cli.Context, op *operator.Operator, kind device.Properties) (device.Protocol, error) {
	p := device.ProtocolFor(op)
	if !c.IsSet("config") || !kind.Measures {
		p.Samples, p.MinSamples, p.WarmUp = 1, 1, 0
	}
	p.Seed = uint32(c.Uint64("seed"))
	if c.IsSet("inputs") {
		p.Distribution = c.String("inputs")
	}
	if !slices.Contains(op.Inputs, p.Distribution) {
		return p, badInput(fmt.Errorf("--inputs %s: %s lists %s", p.Distribution, op.Name, strings.Join(op.Inputs, ", ")))
	}
	return p, nil
}

// printVerdict lists what failed, and how much was right.
func printVerdict(c *cli.Context, r *tuner.Result) error {
	failed, largest := 0, 0.0
	for _, t := range r.Trials {
		if t.Status == trial.OK {
			largest = max(largest, t.MaxAbsError)
			continue
		}
		if t.Status != trial.Pruned {
			failed++
			fmt.Fprintf(c.App.Writer, "%s  %s: %s\n", t.Status, t.Configuration, t.Reason())
		}
	}
	fmt.Fprintf(c.App.Writer, "%d of %d variants agree with the reference (%d valid configurations); largest error %.3g\n",
		r.ByStatus[trial.OK], len(r.Trials), r.Valid, largest)
	if r.Stop == tuner.Interrupted {
		return withCode(exitInterrupted, errors.New("interrupted"))
	}
	if failed > 0 {
		return withCode(exitNoVariant, fmt.Errorf("%s failed", count(failed, "variant")))
	}
	return nil
}
