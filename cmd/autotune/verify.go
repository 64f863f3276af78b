package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/devices"
	"autotune/tuner/final"
)

// mostSchedules bounds --schedules.
const mostSchedules = 1_000_000

// verifyBudget is how many variants `verify` checks unless told otherwise.
const verifyBudget = 50

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check variants against the operator's reference, without a search",
		ArgsUsage: "OPERATOR",
		Flags: slices.Concat(problemFlags(), partFlags(), conditionFlags(), []cli.Flag{
			configFlag(), deviceFlag(),
			&cli.BoolFlag{Name: "sanitize", Usage: "also find out-of-bounds and misaligned accesses: on a GPU with NVIDIA's compute-sanitizer (races, uninitialised reads and divergent barriers too), else on the emulator (and data races)"},
			&cli.IntFlag{Name: "budget", Value: verifyBudget, Usage: "check `N` variants: the defaults, then others drawn at random; 0: all"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the draw and of the inputs"},
			&cli.StringFlag{Name: "inputs", Usage: "`DISTRIBUTION` of the inputs, of those that the operator lists (default: its first): " + strings.Join(operator.Distributions(), ", ")},
			&cli.BoolFlag{Name: "gates", Usage: "put every variant that is right through the gates that a winner must pass (with --config always)"},
			&cli.IntFlag{Name: "schedules", Usage: "on the emulator, launch every variant `N` times in the gates, each time with its threads in another order"},
			&cli.BoolFlag{Name: "fail-fast", Aliases: []string{"x"}, Usage: "end with the first variant that fails"},
			quietFlag(),
			verboseFlag(), colorFlag(),
			&cli.StringFlag{Name: "json", Usage: "write every variant's outcome to `FILE`; - is standard output, in place of the text"},
		}),
		Action: verifyAction,
	}
}

func verifyAction(c *cli.Context) error {
	if c.Bool("sanitize") && c.String("device") == "auto" {
		if err := c.Set("device", string(devices.Sanitizing(c.Context))); err != nil {
			return err
		}
	}
	if err := checkColor(c); err != nil {
		return err
	}
	if n := c.Int("schedules"); c.IsSet("schedules") && (n < 1 || n > mostSchedules) {
		return fmt.Errorf("--schedules takes a number from 1 to %d", mostSchedules)
	}
	if c.Int("budget") < 0 {
		return errors.New("--budget takes a number that is not negative; 0 checks all")
	}
	op, err := operatorArgument(c)
	if err != nil {
		return err
	}
	request, err := exampleRequest(c, op, c.String("shape"))
	if err != nil {
		return err
	}
	protocol, err := verifyProtocol(c, op)
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
	kind := opened.Device.Info().Kind.Properties()
	if !kind.Compiles {
		return withCode(exitDevice, fmt.Errorf("%s cannot verify anything; use --device emulator or a GPU", kind.Label))
	}
	if err := conditionsHere(c, opened.Device, protocol.Conditions); err != nil {
		return err
	}
	if c.Int("schedules") > 0 && kind.Measures {
		return errors.New("--schedules needs the emulator: add --device emulator (a GPU orders threads itself)")
	}
	if request.Only.Fixed != nil && kind.Measures {
		timed := device.ProtocolFor(op)
		protocol.Samples, protocol.MinSamples, protocol.WarmUp = timed.Samples, timed.MinSamples, timed.WarmUp
	}
	options := tuner.Options{
		Strategy: "random", Seed: c.Uint64("seed"), Budget: c.Int("budget"), Protocol: protocol,
		Gating: final.GateNone, Launches: c.Int("schedules"), Only: request.Only,
	}
	if c.Bool("gates") || c.Int("schedules") > 0 || request.Only.Fixed != nil {
		options.Gating = final.GateAll
	}
	result, err := checkVariants(c, opened, options)
	if result == nil {
		return err
	}
	return errors.Join(badInput(writeVerdict(c, result, request.Only)), verdictOf(c, result))
}

// checkVariants evaluates variants, with --fail-fast up to the first that fails.
func checkVariants(c *cli.Context, opened *devices.Opened, o tuner.Options) (*tuner.Result, error) {
	ctx, stop := context.WithCancel(c.Context)
	defer stop()
	if c.Bool("fail-fast") {
		o.Evaluated = func(t trial.Trial) {
			if failed(t) {
				stop()
			}
		}
	}
	return searchShown(ctx, c, opened, o)
}

func failed(t trial.Trial) bool { return t.Status != trial.OK && t.Status != trial.Pruned }

// verifyProtocol runs a variant once, on the inputs that the flags ask for.
func verifyProtocol(c *cli.Context, op *operator.Operator) (device.Protocol, error) {
	p := device.ProtocolFor(op)
	var err error
	if p.Conditions, err = conditionsOf(c); err != nil {
		return p, err
	}
	p.Samples, p.MinSamples, p.WarmUp = 1, 1, 0
	p.Seed = uint32(c.Uint64("seed"))
	if c.IsSet("inputs") {
		p.Distribution = c.String("inputs")
	}
	if !slices.Contains(op.Inputs, p.Distribution) {
		return p, fmt.Errorf("--inputs %s: %s lists %s", p.Distribution, op.Name, strings.Join(op.Inputs, ", "))
	}
	return p, nil
}

// verdict is what `verify --json` writes.
type verdict struct {
	Problem             operator.ProblemRecord `json:"problem"`
	Device              string                 `json:"device"`
	Kind                device.Kind            `json:"kind"`
	ValidConfigurations int64                  `json:"valid_configurations"` // of the whole problem
	Part                string                 `json:"part,omitempty"`
	Conditions          device.Conditions      `json:"conditions,omitzero"` // of times
	Agree               int                    `json:"agree"`
	MaxAbsError         float64                `json:"max_abs_error"`
	Gates               *final.Gates           `json:"gates,omitempty"`    // what each of those that agree passed
	Warnings            []string               `json:"warnings,omitempty"` // about the operator
	Variants            []trial.Trial          `json:"variants"`
}

// writeVerdict shows what failed, and how much was right.
func writeVerdict(c *cli.Context, r *tuner.Result, only operator.Restriction) error {
	part, err := r.Problem.Part(only)
	if err != nil {
		return err
	}
	v := verdict{
		Problem: r.Record.Problem, Device: r.Device.Name, Kind: r.Device.Kind, ValidConfigurations: r.Valid, Part: r.Part,
		Conditions: r.Protocol.Conditions, Agree: r.ByStatus[trial.OK], Gates: r.Gates, Warnings: part.Warnings(), Variants: r.Trials,
	}
	for _, t := range r.Trials {
		if t.Status == trial.OK {
			v.MaxAbsError = max(v.MaxAbsError, t.MaxAbsError)
		}
	}
	if alone := r.Gates.Warning(); alone != "" {
		v.Warnings = append(v.Warnings, alone)
	}
	return writeShown(c, shown{
		table: func(io.Writer) error {
			_, err := io.WriteString(painted(c, os.Stdout), v.text(only.Fixed != nil))
			return err
		},
		json: func(w io.Writer) error { return printJSON(w, v) },
	})
}

// text says of one variant all that is known, and of many what failed.
func (v verdict) text(one bool) string {
	text := ""
	for _, t := range v.Variants {
		if one {
			text += trialText(t, v.Kind.Properties())
		} else if failed(t) {
			text += fmt.Sprintf("%s  %s: %s\n", t.Status, t.Configuration, t.Reason())
		}
	}
	part := ""
	if v.Part != "" && !one { // of one, the line above says which
		part = "; only " + v.Part
	}
	if v.Gates != nil {
		text += fmt.Sprintf("gates passed: %s\n", v.Gates)
	}
	if unusual := v.Conditions.Unusual(); one && unusual != "" {
		text += "timed: " + unusual + "\n"
	}
	for _, warning := range v.Warnings {
		text += "warning: " + warning + "\n"
	}
	return text + fmt.Sprintf("%d of %d variants agree with the reference (%d valid configurations%s); largest error %.3g\n",
		v.Agree, len(v.Variants), v.ValidConfigurations, part, v.MaxAbsError)
}

// verdictOf is the error of a check that found a wrong variant, or was interrupted.
func verdictOf(c *cli.Context, r *tuner.Result) error {
	if c.Context.Err() != nil {
		return withCode(exitInterrupted, errors.New("interrupted"))
	}
	if n := len(lists.Where(r.Trials, failed)); n > 0 {
		return withCode(exitNoVariant, fmt.Errorf("%s failed", output.Count(n, "variant")))
	}
	return nil
}
