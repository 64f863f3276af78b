package gpu

import (
	"context"
	"errors"
	"time"

	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// Launch launches a variant once, for a program that watches. Beside it only what fills
// runs, so that whatever is reported is the variant's. No tensor has room beyond its
// end, and nothing is compared.
func (p *processor) Launch(ctx context.Context, problem *operator.Problem, proto device.Protocol, v device.Variant) (o trial.Outcome, err error) {
	s, err := p.newSession(ctx, problem, proto)
	if err != nil {
		return o, err
	}
	defer s.removeFolder()
	err = p.do(func() error {
		s.attach(memory{})
		for _, step := range []func() error{s.addFiles, s.loadKernels, s.tensors.allocateBare, s.fillInputs} {
			if err := step(); err != nil {
				return err
			}
		}
		if o, err = s.launchWatched(v, proto.LaunchTimeout); err != nil {
			return err
		}
		return errors.Join(p.gpu.Synchronize(), s.gpu.free())
	})
	return o, err
}

// launchWatched launches a variant. Its module stays loaded until the process ends: a
// program that watches reports where in it something was found.
func (s *session) launchWatched(v device.Variant, limit time.Duration) (o trial.Outcome, err error) {
	loaded, err := s.tensors.loadVariant(v.Binary, v.Kernel)
	if err != nil {
		return failed(o, err, limit)
	}
	if !loaded.fit(&o) {
		return o, nil
	}
	if _, err := s.checks.each(1, nil, func() { loaded.launch(1) }, limit); err != nil {
		return failed(o, err, limit)
	}
	o.Status = trial.OK
	return o, nil
}
