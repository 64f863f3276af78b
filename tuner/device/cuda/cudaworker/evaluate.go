//go:build cuda

package cudaworker

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/device/elements"
	"autotune/tuner/trial"
)

func floatBits(x float64) uint64 { return uint64(math.Float32bits(float32(x))) }

// evaluate verifies and times a variant. What goes wrong with it is a status;
// unusable tells that it took the context with it.
func (p *problem) evaluate(q *wire.Evaluate) (e trial.Outcome, unusable bool, err error) {
	begin := time.Now()
	v, err := p.loadVariant(q.Variant)
	if err != nil {
		return p.failed(e, err)
	}
	e, unusable, err = p.evaluateLoaded(v, q, begin)
	if !unusable { // else the driver would wait for a kernel that never ends
		v.unload()
	}
	return e, unusable, err
}

func (p *problem) evaluateLoaded(v variant, q *wire.Evaluate, begin time.Time) (e trial.Outcome, unusable bool, err error) {
	if fits := p.fit(v, &e); !fits {
		return e, false, nil
	}
	launchMS, found, err := p.verify(v, poisoned)
	e.Phases.VerifyMS = sinceMS(begin)
	if err != nil {
		return p.failed(e, err)
	}
	e.MaxAbsError = found.largestError
	if found.any() {
		return p.wrong(e, "", found)
	}
	begin = time.Now()
	launched, err := p.measure(v, q.Best, launchMS, &e)
	if err == nil && q.Energy {
		e.EnergyMJ, err = p.energy(v)
	}
	e.Phases.MeasureMS = sinceMS(begin)
	if err != nil {
		return p.failed(e, err)
	}
	if !launched {
		e.Status = trial.OK
		return e, false, nil
	}
	begin = time.Now()
	found, err = p.inspect()
	e.Phases.VerifyMS += sinceMS(begin)
	if err != nil {
		return p.failed(e, err)
	}
	e.MaxAbsError = max(e.MaxAbsError, found.largestError)
	if found.any() {
		return p.wrong(e, "after the timed launches ", found)
	}
	e.Status = trial.OK
	return e, false, nil
}

// wrong is the outcome of a variant that did what it must not.
func (p *problem) wrong(e trial.Outcome, when string, f findings) (trial.Outcome, bool, error) {
	e.Status, e.Message = trial.WrongResult, when+strings.Join(f.complaints, "; ")
	return e, f.lost, p.repair(f)
}

func sinceMS(begin time.Time) float64 { return float64(time.Since(begin)) / float64(time.Millisecond) }

// failed gives an error its status.
func (p *problem) failed(e trial.Outcome, err error) (trial.Outcome, bool, error) {
	switch {
	case errors.Is(err, errLate):
		e.Status, e.Message = trial.Timeout, fmt.Sprintf("a launch ran for more than %v", p.request.Protocol.LaunchTimeout)
		return e, true, nil
	case isSticky(err):
		e.Status, e.Message = trial.Crashed, fmt.Sprintf("the kernel faulted: %v", inWords(err))
		return e, true, nil
	default:
		e.Status, e.Message = trial.LaunchError, inWords(err).Error()
		return e, false, nil
	}
}

// findings are what verifying a variant brought to light.
type findings struct {
	complaints   []string
	largestError float64
	// What the variant damaged and the next one needs whole.
	guards, inputs bool
	// It wrote so far from its tensors that nothing here can be trusted.
	lost bool
	sums []uint64 // of the outputs
}

func (f findings) any() bool { return len(f.complaints) > 0 }

// verify launches the variant once onto outputs that were prepared so and looks
// at everything it wrote. The time of the launch includes what a first one costs.
func (p *problem) verify(v variant, before preparation) (launchMS float64, f findings, err error) {
	if err := p.prepare(before); err != nil {
		return 0, f, err
	}
	if err := p.queueTimed(0, func() error { return p.launch(v, 1) }); err != nil {
		return 0, f, err
	}
	l := p.layout()
	if err := p.queueChecks(l, p.tensors); err != nil {
		return 0, f, err
	}
	ms, err := p.times(1, p.request.Protocol.LaunchTimeout)
	if err != nil {
		return 0, f, err
	}
	words, err := p.results(l)
	if err != nil {
		return 0, f, err
	}
	f, err = p.judge(l, words)
	return ms[0], f, err
}

// inspect looks at everything that the launches so far wrote.
func (p *problem) inspect() (f findings, err error) {
	l := p.layout()
	if err := p.queueChecks(l, p.tensors); err != nil {
		return f, err
	}
	words, err := p.results(l)
	if err != nil {
		return f, err
	}
	return p.judge(l, words)
}

// judge reads the checks' results.
func (p *problem) judge(l layout, words []uint64) (f findings, err error) {
	for i, a := range p.request.Arguments {
		switch found := words[l.arguments[i]:]; {
		case !looked(a):
		case a.Role.Compared():
			if err := p.judgeOutput(i, found, &f); err != nil {
				return f, err
			}
		case found[0] != p.sums[i].read:
			f.inputs = true
			f.complaints = append(f.complaints, fmt.Sprintf("it changed %s, which it may only read", a.Name))
		}
	}
	if words[l.hits] > 0 {
		f.guards = true
		f.complaints = append(f.complaints, zoneMessage(words[l.hits:], p.guarded()))
	}
	p.judgeOwn(l, words, &f)
	return f, nil
}

// judgeOutput reads what was found of an argument that is compared.
func (p *problem) judgeOutput(argument int, found []uint64, f *findings) error {
	a := p.request.Arguments[argument]
	o := outcomeFrom(a, found)
	f.sums = append(f.sums, o.OutputSum)
	if o.ReferenceSum != p.sums[argument].reference {
		f.lost = true
		f.complaints = append(f.complaints, "it wrote far outside its tensors, into the reference's output")
	}
	if found[outcomeWords] != p.sums[argument].pristine {
		f.lost = true
		f.complaints = append(f.complaints, "it wrote far outside its tensors, into a copy of "+a.Name)
	}
	if p.request.Comparing != nil {
		return nil // the operator's own comparison says what is right
	}
	f.largestError = max(f.largestError, o.LargestError)
	if o.Mismatches == 0 {
		return nil
	}
	got, want, err := p.pair(argument, o.First)
	if err == nil {
		f.complaints = append(f.complaints, mismatchMessage(a, o, got, want))
	}
	return err
}

// pair reads one element of an output and of its reference.
func (p *problem) pair(argument int, element int64) (got, want string, err error) {
	a, texts := p.request.Arguments[argument], [2]string{}
	size := a.Type.Bytes()
	for i, tensors := range [2][]cu.DevicePtr{p.tensors, p.references} {
		var bits uint64 // its lowest bytes come first
		if err := cu.MemcpyDtoH(unsafe.Pointer(&bits), tensors[argument]+cu.DevicePtr(size*element), size); err != nil {
			return "", "", fmt.Errorf("read element %d of %s: %w", element, a.Name, err)
		}
		texts[i] = elements.Text(a.Type, bits)
	}
	return texts[0], texts[1], nil
}

// repair restores what a variant damaged. An error here is the device's.
func (p *problem) repair(f findings) error {
	if f.lost {
		return nil // a new worker will put everything in place
	}
	if f.guards {
		if err := p.fillGuards(); err != nil {
			return err
		}
	}
	if f.inputs {
		return p.fillInputs()
	}
	return nil
}
