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
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/devices"
	"autotune/tuner/final"
)

const mostSchedules = 1_000_000

const verifyBudget = 50

type verifyFlags struct {
	problem           problemFlags
	conditions        conditionFlags
	device            deviceFlags
	sanitize, gates   bool
	budget, schedules int
	seed              uint64
	inputs, json      string
	view              view
}

func verifyCommand() *cli.Command {
	var f verifyFlags
	return command("verify OPERATOR", "check variants against the operator's reference, without a search", "",
		f.verify, slices.Concat(f.problem.flags(), f.problem.only.flags(), f.conditions.flags(), []flag{
			f.problem.only.configFlag(), f.device.flag(""),
			boolFlag(&f.sanitize, "sanitize", "also find out-of-bounds and misaligned accesses: on a GPU with NVIDIA's "+
				"compute-sanitizer (races, uninitialised reads and divergent barriers too), else on the emulator (and data races)"),
			intFlag(&f.budget, "budget", verifyBudget, "check `N` variants: the defaults, then others drawn at random; 0: all"),
			seedFlag(&f.seed, "`SEED` of the draw and of the inputs"),
			textFlag(&f.inputs, "inputs", "", "`DISTRIBUTION` of the inputs, of those that the operator lists (default: its "+
				"first): "+
				strings.Join(operator.Distributions(), ", ")),
			boolFlag(&f.gates, "gates", "run the gates that a winner must pass on every correct variant (with --config always)"),
			intFlag(&f.schedules, "schedules", 0,
				"on the emulator, launch every variant `N` times in the gates, each time with its threads in another order"),
			f.view.quietFlag(),
			f.view.verboseFlag(), jsonFlag(&f.json),
		})...)
}

func (f *verifyFlags) verify(ctx context.Context, l line) error {
	if f.sanitize && f.device.device == "auto" {
		f.device.device = string(devices.Sanitizing(ctx))
	}
	if l.given("schedules") && (f.schedules < 1 || f.schedules > mostSchedules) {
		return fmt.Errorf("--schedules takes a number from 1 to %d", mostSchedules)
	}
	if f.budget < 0 {
		return errors.New("--budget takes a number that is not negative; 0 checks all")
	}
	op, err := operatorArgument(l)
	if err != nil {
		return err
	}
	request, err := f.problem.exampleRequest(op)
	if err != nil {
		return err
	}
	protocol, err := f.protocol(op)
	if err != nil {
		return err
	}
	opener, err := f.device.opener(f.view, devices.Options{Sanitize: f.sanitize, Runs: true})
	if err != nil {
		return err
	}
	defer opener.Close()
	opened, err := opener.Open(ctx, op, request)
	if err != nil {
		return err
	}
	kind := opened.Device.Info().Kind.Properties()
	if !kind.Compiles {
		return withCode(exitDevice, fmt.Errorf("%s cannot verify anything; use --device emulator or a GPU", kind.Label))
	}
	if err := f.conditions.check(opened.Device, protocol.Conditions); err != nil {
		return err
	}
	if f.schedules > 0 && kind.Measures {
		return errors.New("--schedules needs the emulator: add --device emulator (a GPU orders threads itself)")
	}
	one := request.Only.Fixed != nil
	if one && kind.Measures {
		timed := device.ProtocolFor(op)
		protocol.Samples, protocol.MinSamples, protocol.WarmUp = timed.Samples, timed.MinSamples, timed.WarmUp
	}
	o := tuner.Options{
		Strategy: "random", Seed: f.seed, Budget: f.budget, Protocol: protocol, Gating: final.GateNone,
		Only: request.Only, Launches: f.schedules,
	}
	if f.gates || f.schedules > 0 || one {
		o.Gating = final.GateAll
	}
	result, err := f.view.search(ctx, opened, o)
	if result == nil {
		return err
	}
	return errors.Join(badInput(f.write(result, request.Only)), verdictOf(ctx, result))
}

// protocol returns the settings for verifying a variant: a single run, on the inputs that the flags name.
func (f *verifyFlags) protocol(op *operator.Operator) (p device.Protocol, err error) {
	p = device.ProtocolFor(op)
	if p.Conditions, err = f.conditions.conditions(); err != nil {
		return p, err
	}
	p.Samples, p.MinSamples, p.WarmUp = 1, 1, 0
	p.Seed = uint32(f.seed)
	if f.inputs != "" {
		p.Distribution = f.inputs
	}
	if !slices.Contains(op.Inputs, p.Distribution) {
		return p, fmt.Errorf("--inputs %s: %s lists %s", p.Distribution, op.Name, strings.Join(op.Inputs, ", "))
	}
	return p, nil
}

// write prints which variants failed and how many were correct.
func (f *verifyFlags) write(r *tuner.Result, only operator.Restriction) error {
	part, err := r.Problem.Part(only)
	if err != nil {
		return err
	}
	v := reports.VerificationOf(r, part.Warnings())
	return write(f.json, func(io.Writer) error {
		_, err := io.WriteString(output.Plain(os.Stdout), v.Text(only.Fixed != nil))
		return err
	}, asJSON(v))
}

// verdictOf returns an error if a variant failed verification or the command was interrupted.
func verdictOf(ctx context.Context, r *tuner.Result) error {
	if ctx.Err() != nil {
		return context.Canceled
	}
	if n := len(lists.Where(r.Trials, reports.Failed)); n > 0 {
		return withCode(exitNoVariant, fmt.Errorf("%s failed", output.Count(n, "variant")))
	}
	return nil
}
