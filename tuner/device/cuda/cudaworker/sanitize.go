//go:build cuda

package cudaworker

import (
	"errors"
	"fmt"

	"gorgonia.org/cu"

	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// spacer lies between tensors while they are allocated and is free when the
// variant runs, so that an access past the end of one meets no other.
const spacer = 4 << 20

// sanitize launches a variant once, for a program that watches. Beside it only
// fill runs, so that whatever is reported is the variant's.
func (s *server) sanitize(q *wire.Sanitize) (e trial.Outcome, unusable bool, err error) {
	s.watched = true
	if err := s.openGPU(q.Ordinal); err != nil {
		return e, false, err
	}
	p := &problem{gpu: s.gpu, request: &wire.Open{
		Tensors: q.Tensors, Fills: q.Fills, Helpers: q.Helpers, Protocol: device.Protocol{LaunchTimeout: q.Limit},
	}}
	for _, step := range []func() error{p.loadHelpers, p.allocateBare, p.fillInputs} {
		if err := step(); err != nil {
			return e, true, err
		}
	}
	v, err := loadVariant(q.Variant)
	if err == nil {
		if !p.fit(v, &e) {
			return e, true, nil
		}
		_, err = p.timeEach(1, func() error { return p.launch(v, 1) }, q.Limit)
	}
	if err != nil {
		s.watched = !errors.Is(err, errLate) // else the driver would wait for a kernel that never ends
		e, _, err = p.failed(e, err)
		return e, true, err
	}
	e.Status = trial.OK
	return e, false, errors.Join(cu.Synchronize(), p.close())
}

// allocateBare allocates tensors of exactly their size and nothing else. What is
// no input is as new: whoever reads it before it is written reads nothing.
func (p *problem) allocateBare() error {
	var spacers []cu.DevicePtr
	values := make([]uint64, len(p.request.Tensors))
	for _, t := range p.request.Tensors {
		p.memory.Tensors = append(p.memory.Tensors, 4*t.Elements)
		p.memory.References = append(p.memory.References, 0)
	}
	for i, t := range p.request.Tensors {
		address, err := p.takeBare(t, &spacers)
		if err != nil {
			return fmt.Errorf("allocate %s: %w", t.Name, err)
		}
		p.tensors = append(p.tensors, address)
		values[i] = uint64(address)
	}
	p.parameters = newArguments(values...)
	for _, address := range spacers {
		if err := cu.MemFree(address); err != nil {
			return fmt.Errorf("free the space between tensors: %w", err)
		}
	}
	return nil
}

func (p *problem) takeBare(t operator.Tensor, spacers *[]cu.DevicePtr) (cu.DevicePtr, error) {
	address, err := p.take(4 * t.Elements)
	if err != nil || address == 0 {
		return 0, err
	}
	between, err := cu.MemAlloc(spacer)
	*spacers = append(*spacers, between)
	return address, err
}
