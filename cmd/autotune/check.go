package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/devices"
	"autotune/tuner/final"
	"autotune/tuner/lint"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "look for what is wrong or doubtful in an operator, without a GPU, or in a pack, on one",
		ArgsUsage: "OPERATOR|PACK [OPERATOR...]",
		Description: "Looks whether every constraint forbids something and every tunable makes a difference. Compiles each template's " +
			"default, compares it with the reference on a tiny problem on the emulator, and looks for data races there. Of a pack it verifies every file. Where there is a GPU it also verifies, gates and times " +
			"every entry again, beside the general kernel and the untuned defaults; operators that are not built in follow the pack. " +
			"The exit code is 1 if an entry is wrong, or slower than the general kernel.",
		Flags: slices.Concat(problemFlags(), []cli.Flag{
			&cli.StringFlag{Name: "arch", Value: "sm_80,sm_90", Usage: "architectures that the defaults must compile for, `LIST` with commas; \"\" for none"},
			jsonFlag(),
		}, packFlags()),
		Action: checkAction,
	}
}

// checkDocument is what `check --json` writes.
type checkDocument struct {
	Problem  string         `json:"problem"`
	Findings []lint.Finding `json:"findings"`
	Skipped  []string       `json:"skipped,omitempty"` // what could not be looked at, and why
}

func checkAction(c *cli.Context) error {
	path := c.Args().First()
	if isPack(path) {
		return checkPack(c, path)
	}
	for _, flag := range packFlags() {
		if name := flag.Names()[0]; c.IsSet(name) {
			return badInput(fmt.Errorf("--%s is for packs, and %s is not one", name, path))
		}
	}
	op, err := operatorArgument(c)
	if err != nil {
		return err
	}
	shape := c.String("shape")
	if shape == "" && op.Example != nil {
		shape = operator.FormatShape(op.Example)
	}
	request, err := requestOf(c, op, shape)
	if err != nil {
		return err
	}
	p, err := op.Bind(request, operator.TypicalLimits())
	if err != nil {
		return err
	}
	d := checkDocument{Problem: p.String(), Findings: append([]lint.Finding{}, slices.Concat(lint.Signatures(op), lint.Tolerances(p))...)}
	for _, look := range []struct {
		what string
		at   func(*cli.Context, *operator.Problem) ([]lint.Finding, string, error)
	}{{"trying the constraints", lookAtConstraints}, {"compiling the defaults", lookAtCode}, {"running a tiny problem", lookAtResults}} {
		said := await(c, look.what)
		found, skipped, err := look.at(c, p)
		said.done()
		if err != nil {
			return advised(err)
		}
		d.Findings = append(d.Findings, found...)
		if skipped != "" {
			d.Skipped = append(d.Skipped, skipped)
		}
	}
	if err := writeDocument(c, d, d.text()); err != nil {
		return err
	}
	faults := len(slices.DeleteFunc(slices.Clone(d.Findings), func(f lint.Finding) bool { return !f.Fault }))
	if faults > 0 {
		return withCode(exitNoVariant, fmt.Errorf("%s in %s", output.Count(faults, "fault"), d.Problem))
	}
	return nil
}

// advised says with a fault of the reference what to look for in op.yaml.
func advised(err error) error {
	var reference *device.ReferenceError
	switch {
	case !errors.As(err, &reference) || reference.Part != "":
		return err
	case strings.Contains(reference.Fault, "unwritten"):
		return fmt.Errorf("%w; is it as long as its shape says, and are there enough blocks in grid? If it is to keep what the kernel leaves, its role is inout", err)
	case strings.Contains(reference.Fault, "illegal address"):
		return fmt.Errorf("%w; has each tensor as many elements as the kernel reaches (shape), and do those that hold indices hold valid ones (fill)?", err)
	}
	return err
}

// text lists the findings, a line each.
func (d checkDocument) text() string {
	text := ""
	for _, f := range d.Findings {
		word := "doubt"
		if f.Fault {
			word = "fault"
		}
		text += fmt.Sprintf("%s  %s: %s\n", word, f.Template, f.Text)
	}
	for _, s := range d.Skipped {
		text += fmt.Sprintf("skipped  %s\n", s)
	}
	if len(d.Findings) == 0 {
		text += fmt.Sprintf("nothing found in %s\n", d.Problem)
	}
	return text
}

// lookAtConstraints tries them on this problem and on smaller ones, odd ones too: most
// forbid something somewhere only.
func lookAtConstraints(c *cli.Context, p *operator.Problem) ([]lint.Finding, string, error) {
	problems := []*operator.Problem{p}
	shapes := [][]int64{slices.Clone(p.Shape)}
	for i, d := range p.Shape {
		shapes[0][i] = max(1, d-1)
	}
	shapes = append(shapes, lists.Of(tinySides, func(side int64) []int64 { return cut(p.Shape, side) })...)
	request := p.Record().Request()
	for _, shape := range shapes {
		request.Shape = shape
		if other, err := p.Operator.Bind(request, p.Limits); err == nil {
			problems = append(problems, other)
		}
	}
	found, err := lint.Constraints(c.Context, p.Operator, problems)
	return found, "", err
}

// cut is a shape whose sides are side at most.
func cut(shape []int64, side int64) []int64 {
	small := slices.Clone(shape)
	for i := range small {
		small[i] = min(small[i], side)
	}
	return small
}

// lookAtCode compiles for the architectures that were asked for.
func lookAtCode(c *cli.Context, p *operator.Problem) (found []lint.Finding, skipped string, err error) {
	if c.String("arch") == "" {
		return nil, "", nil
	}
	compiler, err := compile.NVRTC(c.Context)
	if errors.Is(err, compile.ErrMissing) {
		return nil, "compiling: NVRTC is not on this machine; `autotune devices` says what to install", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer compiler.Close()
	for _, arch := range strings.Split(c.String("arch"), ",") {
		limits, err := limitsFor(compiler, strings.TrimSpace(arch))
		if err != nil {
			return nil, "", err
		}
		bound, err := p.Operator.Bind(p.Record().Request(), limits)
		if err != nil {
			return nil, "", err
		}
		more, err := lint.Compiled(c.Context, bound, compiler, limits.Target)
		if errors.Is(err, compile.ErrHeaders) {
			return found, "compiling: " + err.Error(), nil
		}
		if errors.Is(err, compile.ErrArch) {
			return nil, "", badInput(fmt.Errorf("--arch %s: %w", arch, err))
		}
		if err != nil {
			return nil, "", err
		}
		found = append(found, more...)
	}
	return found, "", nil
}

// limitsFor are a typical GPU's limits with another architecture.
func limitsFor(c compile.Compiler, arch string) (operator.Limits, error) {
	limits := operator.TypicalLimits()
	if _, err := fmt.Sscanf(arch, "sm_%d", &limits.Arch); err != nil {
		return limits, fmt.Errorf("--arch %q: want architectures as sm_80,sm_90", arch)
	}
	limits.Target = cmp.Or(compile.Target(c.Version(), limits.Arch), arch)
	return limits, nil
}

// tinySides are what the sides of a problem are cut to for the emulator, the first
// with which the operator has the problem.
var tinySides = []int64{7, 13, 24, 48}

const (
	tinyBytes    = 1 << 20  // that the tensors of a small problem take at most
	largestTried = 64 << 20 // that those of any problem take which is tried at all
)

// lookAtResults runs every template's default on a tiny problem.
func lookAtResults(c *cli.Context, p *operator.Problem) ([]lint.Finding, string, error) {
	o := devices.Options{Runs: true}
	o.CacheDir, _ = cacheDir() // without one it takes longer
	opener := devices.NewOpener(devices.Spec{Kind: device.Emulator}, o)
	defer opener.Close()
	request := p.Record().Request()
	for _, shape := range tinyShapes(p) {
		request.Shape = shape
		opened, err := opener.Open(c.Context, p.Operator, request)
		var refused *operator.RequestError
		if errors.As(err, &refused) {
			continue
		}
		if errors.Is(err, device.ErrNone) || errors.Is(err, emulator.ErrNoCompiler) {
			return nil, "running: " + err.Error(), nil
		}
		if err != nil {
			return nil, "", err
		}
		defaults := opened.Problem.Defaults(c.Context)
		if len(defaults) == 0 {
			continue
		}
		if header := gpuHeader(opened.Problem, defaults); header != "" {
			return nil, fmt.Sprintf("running: the kernel includes <%s>, which the emulator lacks; a machine with a GPU verifies it, as in: autotune verify %s", header, c.Args().First()), nil
		}
		return runDefaults(c.Context, opened, len(defaults))
	}
	return nil, "running: the operator has no problem with sides of up to " + fmt.Sprint(tinySides[len(tinySides)-1]) + ", and its own needs too much memory", nil
}

// gpuHeader is a header of which a default needs a GPU; "" if none does.
func gpuHeader(p *operator.Problem, defaults []space.Configuration) string {
	for _, d := range defaults {
		if kernel, err := p.Kernel(d); err == nil && compile.GPUHeader(kernel) != "" {
			return compile.GPUHeader(kernel)
		}
	}
	return ""
}

// tinyShapes are what a problem's shape is cut to; at last the shape itself: files that
// tensors are filled from fit no other, and documents describe one problem.
func tinyShapes(p *operator.Problem) [][]int64 {
	all := lists.Of(tinySides, func(side int64) []int64 { return cut(p.Shape, side) })
	if p.MemoryBytes() <= largestTried {
		all = append(all, p.Shape)
	}
	return all
}

// runDefaults runs the defaults. Where the problem is no small one, what takes longer than
// a second is skipped.
func runDefaults(ctx context.Context, opened *devices.Opened, defaults int) (found []lint.Finding, skipped string, err error) {
	protocol := device.ProtocolFor(opened.Problem.Operator)
	protocol.Samples, protocol.MinSamples, protocol.WarmUp = 1, 1, 0
	large := opened.Problem.MemoryBytes() > tinyBytes
	if large {
		protocol.LaunchTimeout = time.Second
	}
	result, err := tuner.Search(ctx, opened.Problem, opened.Device, tuner.Options{
		Strategy: "random", Budget: defaults, Protocol: protocol, Gating: final.GateRaces,
	})
	tooLong := fmt.Sprintf("running: %s takes the emulator longer than a second; it has no smaller one", opened.Problem)
	var reference *device.ReferenceError
	if large && errors.As(err, &reference) && strings.Contains(reference.Fault, string(trial.Timeout)) {
		return nil, tooLong, nil
	}
	if result == nil {
		return nil, "", err
	}
	for _, t := range result.Trials {
		switch {
		case t.Status == trial.OK:
		case large && t.Status == trial.Timeout:
			skipped = tooLong
		default:
			text := fmt.Sprintf("the default ends as %s on %s: %s", t.Status, opened.Problem, t.Reason())
			found = append(found, lint.Finding{Template: t.Template, Text: text, Fault: true})
		}
	}
	if g := result.Gates; g != nil && skipped == "" && !strings.HasPrefix(g.Races, "no data race") {
		skipped = g.Races
	}
	return found, skipped, nil
}
