//go:build cuda

package cudaworker

import (
	"errors"
	"fmt"

	"gorgonia.org/cu"

	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/trial"
)

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
	values := make([]uint64, len(p.request.Tensors))
	for _, t := range p.request.Tensors {
		p.memory.Tensors = append(p.memory.Tensors, 4*t.Elements)
		p.memory.References = append(p.memory.References, 0)
	}
	for i, t := range p.request.Tensors {
		address, err := p.take(4 * t.Elements)
		if err != nil {
			return fmt.Errorf("allocate %s: %w", t.Name, err)
		}
		p.tensors = append(p.tensors, address)
		values[i] = uint64(address)
	}
	p.parameters = newArguments(values...)
	return nil
}
