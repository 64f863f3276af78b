package gpu

import (
	"context"
	"errors"
	"fmt"

	"autotune/internal/scratch"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/elements"
	"autotune/tuner/device/verify"
	"autotune/tuner/operator"
)

// prepared is a problem's tensors in place, with all that fills, compares and judges them.
type prepared struct {
	device  *processor
	problem *operator.Problem
	inputs  device.Inputs // of the moment
	fills   []elements.Fill
	folder  *scratch.Folder // of what is read from files; nil: nothing
	files   []string        // by argument, that it is filled from; "": none

	reference struct { // without a binary: no kernel says what is right
		operator.Kernel
		*compile.Binary
	}
	ceilings device.Ceilings
	measured bool // the ceilings are known

	gpu     holding
	tensors tensors
	helpers helpers
	own     own
	checks  checks
}

// takeReference remembers the kernel that says what is right.
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

// open puts the problem's tensors in place.
func (p *prepared) open(ctx context.Context) error {
	p.attach(planMemory(p.problem.Arguments, p.device.gpu.Bounds().L2Bytes))
	for _, step := range []func() error{
		p.addFiles, p.loadKernels, p.checkMemory, p.measureCopy, p.allocate,
		p.fillInputs, func() error { return p.learnAnswers(ctx) },
	} {
		if err := step(); isLost(err) {
			return err // the context is lost with all it holds
		} else if err != nil {
			return errors.Join(err, p.gpu.free())
		}
	}
	p.measured = true
	return nil
}

// attach ties the parts of the session to the GPU.
func (p *prepared) attach(m memory) {
	p.gpu.GPU = p.device.gpu
	g := &p.gpu
	p.tensors = tensors{gpu: g, arguments: p.problem.Arguments, plan: m}
	p.helpers.gpu, p.own.gpu = g, g
	p.checks = checks{timer: timer{g}, tensors: &p.tensors, helpers: &p.helpers, own: &p.own, guard: guardNaN, judge: verify.Judge{
		Operator: p.problem.Operator.Name, Arguments: p.problem.Arguments, Comparison: p.own.parts.Comparison,
	}}
}

// loadKernels loads the device's own kernels and the operator's.
func (p *prepared) loadKernels() error {
	if err := p.helpers.load(Kernels(p.problem.Arguments), p.device.own); err != nil {
		return err
	}
	return p.own.load()
}

func (p *prepared) checkMemory() error {
	free, total, err := p.tensors.gpu.Free()
	if err != nil {
		return fmt.Errorf("ask for free memory: %w", err)
	}
	return p.tensors.plan.check(free, total)
}

// allocate takes the planned memory, and room for what is found in it.
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
