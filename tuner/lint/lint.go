// Package lint looks for faults and doubtful points in an operator before anybody searches it.
package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/devices"
	"autotune/tuner/final"
)

// Report lists what lint found in an operator.
type Report struct {
	Problem  string    `json:"problem"`
	Findings []Finding `json:"findings"`
	Skipped  []string  `json:"skipped,omitempty"` // checks that were skipped, and why
}

// Finding is one fault or doubt. A fault in an operator prevents searches of the operator on some device; a doubt
// prevents nothing.
type Finding struct {
	Template string `json:"template"`
	Text     string `json:"text"`
	Fault    bool   `json:"fault,omitempty"`
}

func (r *Report) add(fault bool, template, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{template, fmt.Sprintf(format, args...), fault})
}

func (r *Report) skip(format string, args ...any) {
	r.Skipped = append(r.Skipped, fmt.Sprintf(format, args...))
}

// Faults returns the number of findings that are faults.
func (r *Report) Faults() int {
	return len(lists.Where(r.Findings, func(f Finding) bool { return f.Fault }))
}

// Text returns the findings as text, one on each line.
func (r *Report) Text() string {
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

// Options configure a check of an operator.
type Options struct {
	Named    string   // the operator's name or folder, as the user gave it
	Archs    []string // architectures for which the defaults must compile
	CacheDir string   // for compiled binaries; "": nothing is reused
	Await    func(what string) (done func())
}

// Look checks an operator's description, compiles its kernels, and runs them on a tiny problem.
func Look(ctx context.Context, p *operator.Problem, o Options) (*Report, error) {
	r := &Report{Problem: p.String(), Findings: []Finding{}}
	r.Describe(p)
	done := o.Await("compiling the defaults")
	err := r.compileDefaults(ctx, p, o.Archs)
	done()
	if err == nil {
		done = o.Await("running a tiny problem")
		err = r.runTiny(ctx, p, o)
		done()
	}
	return r, advised(err)
}

// advised adds advice about op.yaml to an error of the reference.
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

// An output whose tolerances reach looseAbsolute or looseRelative accepts wrong results; with a relative tolerance
// of 1, even zeros are accepted.
const (
	looseAbsolute = 1e3
	looseRelative = 1
)

// Describe reports kernels whose parameters do not match the operator's arguments, outputs whose tolerance accepts
// almost any result, and definitions of op.yaml that are not used.
func (r *Report) Describe(p *operator.Problem) {
	for _, f := range p.Operator.SignatureFaults() {
		r.add(true, f.Template, "%v", f.Fault)
	}
	for _, a := range p.Arguments {
		if a.Type.Kind() == operator.Floating && (a.ATol >= looseAbsolute || a.RTol >= looseRelative) {
			r.add(false, p.Operator.Name, "the tolerance of `%s`, atol %g and rtol %g, holds results that are wrong",
				a.Name, a.ATol, a.RTol)
		}
	}
	for _, warning := range p.Operator.Warnings() {
		r.add(false, p.Operator.Name, "%s", warning)
	}
	for _, t := range p.Operator.Templates {
		for _, warning := range t.Warnings() {
			r.add(false, t.Name, "%s", warning)
		}
	}
}

func (r *Report) compileDefaults(ctx context.Context, p *operator.Problem, archs []string) error {
	if len(archs) == 0 {
		return nil
	}
	compiler, err := compile.NVRTC(ctx)
	if errors.Is(err, compile.ErrMissing) {
		r.skip("compiling: NVRTC is not on this machine; `autotune devices` says what to install")
		return nil
	}
	if err != nil {
		return err
	}
	defer compiler.Close()
	for _, arch := range archs {
		limits := operator.TypicalLimits()
		if _, err := fmt.Sscanf(arch, "sm_%d", &limits.Arch); err != nil {
			return fmt.Errorf("--arch %q: want architectures as sm_80,sm_90", arch)
		}
		limits.Target = cmp.Or(compile.Target(compiler.Version(), limits.Arch), arch)
		bound, err := p.Operator.Bind(p.Record().Request(), limits)
		if err != nil {
			return err
		}
		err = r.Compile(ctx, bound, compiler, limits.Target)
		switch {
		case errors.Is(err, compile.ErrHeaders):
			r.skip("compiling: %v", err)
			return nil
		case errors.Is(err, compile.ErrArch):
			return fmt.Errorf("--arch %s: %w", arch, err)
		case err != nil:
			return err
		}
	}
	return nil
}

// Compile compiles the default of each template that serves the problem, and reports those that do not compile. The
// problem p must be bound to the limits of the architecture. If a kernel's headers are missing, the error is
// compile.ErrHeaders.
func (r *Report) Compile(ctx context.Context, p *operator.Problem, c compile.Compiler, arch string) error {
	for _, d := range p.Defaults(ctx) {
		k, err := p.Kernel(d)
		if err != nil {
			return err
		}
		_, err = c.Compile(ctx, compile.Request{Kernel: k, Arch: arch})
		var refused *compile.Error
		switch {
		case errors.As(err, &refused) && !errors.Is(err, compile.ErrHeaders):
			r.add(true, d.Template, "the default does not compile for %s: %s", arch, refused)
		case err != nil:
			return err
		}
	}
	return nil
}

// tinySides are the sizes to which a problem's dimensions are cut for the emulator. Lint uses the first of the sizes
// with which the operator has a valid problem.
var tinySides = []int64{7, 13, 24, 48}

// largestTried is the size in bytes up to which a problem runs on the emulator without having its dimensions cut.
// Problems whose tensors are filled from files are not cut, since a file fits one shape only.
const largestTried = 4 << 20

// runTiny runs every template's default on a tiny problem.
func (r *Report) runTiny(ctx context.Context, p *operator.Problem, o Options) error {
	opener := devices.NewOpener(devices.Spec{Kind: device.Emulator}, devices.Options{Runs: true, CacheDir: o.CacheDir})
	defer opener.Close()
	shapes := lists.Of(tinySides, func(side int64) []int64 {
		return lists.Of(p.Shape, func(d int64) int64 { return min(d, side) })
	})
	if p.MemoryBytes() <= largestTried {
		shapes = append(shapes, p.Shape)
	}
	request := p.Record().Request()
	for _, request.Shape = range shapes {
		opened, err := opener.Open(ctx, p.Operator, request)
		var refused *operator.RequestError
		switch {
		case errors.As(err, &refused):
			continue
		case errors.Is(err, device.ErrNone) || errors.Is(err, emulator.ErrNoCompiler):
			r.skip("running: %v", err)
			return nil
		case err != nil:
			return err
		}
		if defaults := opened.Problem.Defaults(ctx); len(defaults) > 0 {
			for _, d := range defaults {
				kernel, err := opened.Problem.Kernel(d)
				if err != nil {
					continue
				}
				if all := compile.GPUHeaders(kernel); all != nil {
					r.skip("running: the kernel includes <%s>, which the emulator lacks; a machine with a GPU verifies it, as "+
						"in: autotune verify %s", all[0], o.Named)
					return nil
				}
			}
			return r.runDefaults(ctx, opened, len(defaults))
		}
	}
	r.skip("running: the operator has no problem with sides of up to %d, and its own needs too much memory",
		tinySides[len(tinySides)-1])
	return nil
}

func (r *Report) runDefaults(ctx context.Context, opened *devices.Opened, defaults int) error {
	protocol := device.ProtocolFor(opened.Problem.Operator)
	protocol.Samples, protocol.MinSamples, protocol.WarmUp = 1, 1, 0
	result, err := tuner.Search(ctx, opened.Problem, opened.Device, tuner.Options{
		Strategy: "random", Budget: defaults, Protocol: protocol, Gating: final.GateRaces,
	})
	if result == nil {
		return err
	}
	for _, t := range result.Trials {
		if t.Status != trial.OK {
			r.add(true, t.Template, "the default ends as %s on %s: %s", t.Status, opened.Problem, t.Reason())
		}
	}
	if g := result.Gates; g != nil && g.Races != "" && !strings.HasPrefix(g.Races, "no data race") {
		r.skip("%s", g.Races)
	}
	return nil
}
