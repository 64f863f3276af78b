package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/devices"
	"autotune/tuner/final"
)

// Report is what was found in an operator.
type Report struct {
	Problem  string    `json:"problem"`
	Findings []Finding `json:"findings"`
	Skipped  []string  `json:"skipped,omitempty"` // what could not be looked at, and why
}

// Faults counts the findings that are not mere doubts.
func (r Report) Faults() int {
	return len(lists.Where(r.Findings, func(f Finding) bool { return f.Fault }))
}

// Text lists the findings, a line each.
func (r Report) Text() string {
	text := ""
	for _, f := range r.Findings {
		word := "doubt"
		if f.Fault {
			word = "fault"
		}
		text += fmt.Sprintf("%s  %s: %s\n", word, f.Template, f.Text)
	}
	for _, s := range r.Skipped {
		text += fmt.Sprintf("skipped  %s\n", s)
	}
	if len(r.Findings) == 0 {
		text += fmt.Sprintf("nothing found in %s\n", r.Problem)
	}
	return text
}

// Options say how an operator is looked at.
type Options struct {
	Named    string   // the operator, as the user names it
	Archs    []string // architectures that the defaults must compile for
	CacheDir string   // of compiled binaries; without one it takes longer
	Await    func(what string) (done func())
}

// Look looks for what is wrong or doubtful in an operator: in its description, and in what its kernels do.
func Look(ctx context.Context, p *operator.Problem, o Options) (Report, error) {
	r := Report{Problem: p.String(), Findings: []Finding{}}
	r.Findings = append(append(r.Findings, Signatures(p.Operator)...), Described(p)...)
	for _, look := range []struct {
		what string
		at   func(context.Context, *operator.Problem) ([]Finding, string, error)
	}{{"compiling the defaults", o.compileDefaults}, {"running a tiny problem", o.runTiny}} {
		done := o.Await(look.what)
		found, skipped, err := look.at(ctx, p)
		done()
		if err != nil {
			return r, advised(err)
		}
		r.Findings = append(r.Findings, found...)
		if skipped != "" {
			r.Skipped = append(r.Skipped, skipped)
		}
	}
	return r, nil
}

// advised says with a fault of the reference what to look for in op.yaml.
func advised(err error) error {
	var reference *device.ReferenceError
	switch {
	case !errors.As(err, &reference) || reference.Part != "":
		return err
	case strings.Contains(reference.Fault, "unwritten"):
		return fmt.Errorf("%w; is it as long as its shape says, and are there enough blocks in grid? If it is to keep what "+
			"the kernel leaves, its role is inout", err)
	case strings.Contains(reference.Fault, "illegal address"):
		return fmt.Errorf("%w; has each tensor as many elements as the kernel reaches (shape), and do those that hold "+
			"indices hold valid ones (fill)?", err)
	}
	return err
}

// tinySides are what the sides of a problem are cut to for the emulator. The first is taken with which the operator has
// the problem.
var tinySides = []int64{7, 13, 24, 48}

// cuts are a problem's shape with its sides cut.
func cuts(p *operator.Problem) [][]int64 {
	return lists.Of(tinySides, func(side int64) []int64 {
		return lists.Of(p.Shape, func(d int64) int64 { return min(d, side) })
	})
}

func (o Options) compileDefaults(ctx context.Context, p *operator.Problem) (found []Finding, skipped string,
	err error) {
	if len(o.Archs) == 0 {
		return nil, "", nil
	}
	compiler, err := compile.NVRTC(ctx)
	if errors.Is(err, compile.ErrMissing) {
		return nil, "compiling: NVRTC is not on this machine; `autotune devices` says what to install", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer compiler.Close()
	for _, arch := range o.Archs {
		limits, err := limitsFor(compiler, arch)
		if err != nil {
			return nil, "", err
		}
		bound, err := p.Operator.Bind(p.Record().Request(), limits)
		if err != nil {
			return nil, "", err
		}
		more, err := Compiled(ctx, bound, compiler, limits.Target)
		switch {
		case errors.Is(err, compile.ErrHeaders):
			return found, "compiling: " + err.Error(), nil
		case errors.Is(err, compile.ErrArch):
			return nil, "", fmt.Errorf("--arch %s: %w", arch, err)
		case err != nil:
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

const (
	tinyBytes    = 1 << 20  // the most that the tensors of a small problem take
	largestTried = 64 << 20 // the most that the tensors of a problem may take which is run at all
)

// runTiny runs every template's default on a tiny problem.
func (o Options) runTiny(ctx context.Context, p *operator.Problem) ([]Finding, string, error) {
	opener := devices.NewOpener(devices.Spec{Kind: device.Emulator}, devices.Options{Runs: true, CacheDir: o.CacheDir})
	defer opener.Close()
	shapes, request := cuts(p), p.Record().Request()
	if p.MemoryBytes() <= largestTried { // files that tensors are filled from fit no other shape
		shapes = append(shapes, p.Shape)
	}
	for _, shape := range shapes {
		request.Shape = shape
		opened, err := opener.Open(ctx, p.Operator, request)
		var refused *operator.RequestError
		switch {
		case errors.As(err, &refused):
			continue
		case errors.Is(err, device.ErrNone) || errors.Is(err, emulator.ErrNoCompiler):
			return nil, "running: " + err.Error(), nil
		case err != nil:
			return nil, "", err
		}
		defaults := opened.Problem.Defaults(ctx)
		if len(defaults) == 0 {
			continue
		}
		if header := gpuHeader(opened.Problem, defaults); header != "" {
			return nil, fmt.Sprintf("running: the kernel includes <%s>, which the emulator lacks; a machine with a GPU "+
				"verifies it, as in: autotune verify %s", header, o.Named), nil
		}
		return runDefaults(ctx, opened, len(defaults))
	}
	return nil, fmt.Sprintf("running: the operator has no problem with sides of up to %d, and its own needs too much "+
		"memory",
		tinySides[len(tinySides)-1]), nil
}

// gpuHeader is a header of which a default needs a GPU; "" if none does.
func gpuHeader(p *operator.Problem, defaults []space.Configuration) string {
	for _, d := range defaults {
		if kernel, err := p.Kernel(d); err == nil {
			if all := compile.GPUHeaders(kernel); all != nil {
				return all[0]
			}
		}
	}
	return ""
}

// runDefaults runs the defaults. Of a problem that is not small, what takes longer than a second is skipped.
func runDefaults(ctx context.Context, opened *devices.Opened, defaults int) (found []Finding, skipped string,
	err error) {
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
			found = append(found, Finding{Template: t.Template, Text: text, Fault: true})
		}
	}
	if g := result.Gates; g != nil && skipped == "" && !strings.HasPrefix(g.Races, "no data race") {
		skipped = g.Races
	}
	return found, skipped, nil
}
