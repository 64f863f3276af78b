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

// sanitize launches a variant once, for a program that watches. Beside it only what
// fills runs, so that whatever is reported is the variant's.
func (s *server) sanitize(q *wire.Sanitize) (e trial.Outcome, unusable bool, err error) {
	s.watched = true
	if err := s.openGPU(q.Ordinal); err != nil {
		return e, false, err
	}
	p := &problem{gpu: s.gpu, request: &wire.Open{
		Arguments: q.Arguments, Fills: q.Fills, Files: q.Files, Fillings: q.Fillings, Helpers: q.Helpers, Typed: q.Typed, Protocol: device.Protocol{LaunchTimeout: q.Limit},
	}}
	for _, step := range []func() error{p.loadHelpers, p.loadOwn, p.allocateBare, p.fillInputs} {
		if err := step(); err != nil {
			return e, true, err
		}
	}
	v, err := p.loadVariant(q.Variant)
	if err == nil {
		if !p.fit(v, &e) {
			return e, true, nil
		}
		_, err = p.timeEach(1, nothing, func() error { return p.launch(v, 1) }, q.Limit)
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
// not filled is as new: whoever reads it before it is written reads nothing.
func (p *problem) allocateBare() error {
	count := len(p.request.Arguments)
	p.memory = memory{Tensors: make([]int64, count), References: make([]int64, count), Pristine: make([]int64, count)}
	p.pristine = make([]cu.DevicePtr, count)
	for i, a := range p.request.Arguments {
		p.memory.Tensors[i] = a.Bytes()
	}
	for _, a := range p.request.Arguments {
		address, err := p.take(a.Bytes())
		if err != nil {
			return fmt.Errorf("allocate %s: %w", a.Name, err)
		}
		p.tensors = append(p.tensors, address)
	}
	return nil
}
