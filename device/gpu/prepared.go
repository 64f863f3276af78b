package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/elements"
	"autotune/device/trial"
	"autotune/device/verify"
	"autotune/internal/scratch"
	"autotune/operator"
)

// prepared is a problem whose tensors are on the GPU, with all that fills, compares and judges them.
type prepared struct {
	device  *processor
	problem *operator.Problem
	inputs  device.Inputs // the current inputs
	fills   []elements.Fill
	changes uint32          // seed of the few elements that are drawn anew; 0 if there are none
	folder  *scratch.Folder // files that are read; nil if none are

	reference struct { // no binary if the right answers come from no kernel
		operator.Kernel
		*compile.Binary
	}
	ceilings device.Ceilings

	gpu     holding
	tensors tensors
	helpers helpers
	own     own
	checks  checks
}

func (p *prepared) takeReference(b *compile.Binary) error {
	k, err := p.problem.Reference()
	if err != nil {
		return fmt.Errorf("the reference's launch: %w", err)
	}
	if wrong := mismatch(p.device.driver, b, k, p.problem.Arguments); wrong != "" {
		return device.Blame(p.problem.Operator.Name, "", "cannot be launched: %s", wrong)
	}
	p.reference.Kernel, p.reference.Binary = k, b
	return nil
}

func (p *prepared) open(ctx context.Context) error {
	p.attach()
	for _, step := range []func() error{
		p.addFolder, p.loadKernels, p.measureCopy, p.allocate,
		p.fillInputs, func() error { return p.learnAnswers(ctx) },
	} {
		if err := step(); isLost(err) {
			return err // the context is lost with all its memory
		} else if err != nil {
			return errors.Join(err, p.gpu.free())
		}
	}
	return nil
}

func (p *prepared) attach() {
	p.gpu.GPU = p.device.gpu
	g := &p.gpu
	p.tensors = tensors{gpu: g, arguments: p.problem.Arguments}
	p.helpers.gpu, p.own.gpu = g, g
	p.checks = checks{timer: timer{g}, tensors: &p.tensors, helpers: &p.helpers, own: &p.own, guard: guardNaN, judge: verify.Judge{
		Operator: p.problem.Operator.Name, Arguments: p.problem.Arguments, Comparison: p.own.parts.Comparison,
	}}
}

func (p *prepared) loadKernels() error {
	if err := p.helpers.load(Kernels(p.problem.Arguments), p.device.own); err != nil {
		return err
	}
	return p.own.load()
}

// allocate allocates the planned tensors, and memory for the results of checks.
func (p *prepared) allocate() error {
	err := p.tensors.allocate(func(zones int) int {
		p.checks.judge.Layout = verify.LayoutOf(p.problem.Arguments, zones)
		return p.checks.judge.Words
	})
	if err == nil {
		p.checks.fillGuards()
	}
	return err
}

// A reference faster than briefReferenceMS is timed referenceSamples times.
const (
	briefReferenceMS = 50
	referenceSamples = 5
)

// measureCopy measures the bandwidth of copies on this GPU, which is the ceiling for kernels that only move data.
// The buffers that measureCopy copies are far larger than the L2 cache. The bandwidth of copies is measured only
// once per device, because measuring it takes as long as ten short variants.
func (p *prepared) measureCopy() error {
	if p.ceilings.CopyBytesPerMS = p.device.copies; p.device.copies > 0 {
		return nil
	}
	g := p.device.gpu
	free, _, err := g.Free()
	if err != nil {
		return fmt.Errorf("ask for free memory: %w", err)
	}
	bytes := min(1<<30, free/4/alignment*alignment)
	var buffers [2]Address
	for i := range buffers {
		if buffers[i], err = g.Allocate(bytes); err != nil {
			return fmt.Errorf("allocate %s to measure copies: %w", device.GiB(bytes), err)
		}
		defer g.Release(buffers[i])
	}
	ms, err := p.checks.each(10, nil, func() { g.Copy(buffers[0], buffers[1], bytes) }, helperLimit)
	if err != nil {
		return fmt.Errorf("measure copies: %w", err)
	}
	p.device.copies = 2 * float64(bytes) / trial.Median(ms[1:])
	p.ceilings.CopyBytesPerMS = p.device.copies
	return nil
}

func (p *prepared) learnAnswers(ctx context.Context) error {
	p.checks.judge.Forget()
	if p.reference.Binary == nil {
		return p.takeAnswers(ctx)
	}
	if err := p.runReference(); err != nil {
		return err
	}
	learn := p.tensors.references
	if p.hasIntegers() {
		learn = p.tensors.data // where the reference wrote too
	}
	if err := p.checks.learn(learn); err != nil {
		return err
	}
	return p.checks.learnSizes(p.inputs.Distribution)
}

func (p *prepared) runReference() error {
	v, err := p.tensors.loadVariant(p.reference.Binary, p.reference.Kernel)
	if err != nil {
		return blame(p.problem.Operator.Name, "", "cannot be loaded", err)
	}
	var able trial.Outcome
	if !v.fit(&able) {
		return blame(p.problem.Operator.Name, "", "cannot run on this GPU", errors.New(able.Message))
	}
	// The reference runs twice, and its integer outputs hold different values before the two runs. An integer output
	// that differs between the two runs of the reference was never written; a single run could not show this.
	if p.hasIntegers() {
		if _, err := p.launchReference(v, p.tensors.data, elements.Poison, 1); err != nil {
			return err
		}
	}
	ms, err := p.launchReference(v, p.tensors.references, referencePoison, 1)
	first := p.ceilings.ReferenceMS == 0 // otherwise it was measured before, on other inputs
	if err == nil && ms[0] < briefReferenceMS && first {
		ms, err = p.launchReference(v, p.tensors.references, referencePoison, referenceSamples)
	}
	if err != nil {
		return err
	}
	if first {
		p.ceilings.ReferenceMS = trial.Median(ms)
	}
	v.unload()
	return nil
}

// launchReference overwrites the given output buffers, launches the reference on them, and returns its times.
func (p *prepared) launchReference(v variant, buffers []Address, with func(operator.Type) uint64, count int) ([]float64, error) {
	t := &p.tensors
	// The reference uses the same workspaces as the variants.
	t.overwrite(operator.Workspace, t.data, elements.Poison)
	t.overwrite(operator.Output, buffers, with)
	if err := t.gpu.Err(); err != nil {
		return nil, err
	}
	values := t.passed()
	for i, address := range buffers {
		if t.arguments[i].Role.Compared() {
			values[i] = uint64(address)
		}
	}
	v.bind(t.arguments, values)
	ms, err := p.checks.each(count, func() { t.restore(buffers) }, func() { v.launch(1) }, referenceLimit)
	if err != nil {
		return nil, blame(p.problem.Operator.Name, "", "fails", err)
	}
	return ms, nil
}

func (p *prepared) hasIntegers() bool {
	return slices.ContainsFunc(p.tensors.arguments, func(a operator.Argument) bool {
		return a.Role == operator.Output && a.Type.Kind() != operator.Floating
	})
}

// referencePoison returns the bits that an output's elements hold before the reference runs. For integers,
// referencePoison returns bits that differ from those that a variant's outputs hold before a launch.
func referencePoison(t operator.Type) uint64 {
	if t.Kind() == operator.Floating {
		return elements.Poison(t)
	}
	return ^elements.Poison(t)
}
