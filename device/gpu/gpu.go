// Package gpu is the device that measures on a real GPU, in this process and through a Driver.
//
// A session keeps a problem's tensors on the GPU and evaluates one variant after another. For each variant, the session
// checks that the GPU has the resources that the variant needs, launches it once onto outputs that are filled with
// values that no kernel writes, compares the outputs with the reference's, and checks the guard zones and the inputs.
// If all checks pass, the session times the variant and then repeats the checks, because the outputs of timed launches
// must be right, too.
//
// Large data never crosses between GPU and host: the kernels of kernels.cu fill inputs and compare results on the GPU,
// and those of typed.cu do the same for tensors that are not f32. The device's own compiler compiles kernels.cu and
// typed.cu. Package verify says what to check and how to judge the results.
//
// A kernel that faults or never ends destroys the context. The device of a destroyed context only returns
// device.ErrLost, and package remote opens it again in a new process.
package gpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/device/verify"
	"autotune/operator"
)

// Options are what a GPU needs in addition to its driver.
type Options struct {
	Compiler compile.Compiler // the device closes it
	Target   string           // what kernels are compiled for, as "sm_90a"
	CacheDir string           // folder of cached answers; "" means none
}

// Open finds a GPU and describes it; its context is created for the first problem. The error wraps device.ErrNone if
// there is no GPU with this ordinal.
func Open(d Driver, ordinal int, o Options) (device.Device, error) {
	found, err := d.List()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(found) {
		return nil, fmt.Errorf("there is no GPU %d, this machine has %d, counted from 0: %w", ordinal, len(found), device.ErrNone)
	}
	p := &processor{driver: d, ordinal: ordinal, Options: o, about: found[ordinal], own: map[string][]byte{}}
	p.about.Compiler, p.about.Limits.Target = o.Compiler.Version(), o.Target
	return p, nil
}

type processor struct {
	Options
	driver  Driver
	ordinal int
	about   device.Info

	mu     sync.Mutex // a GPU must do nothing else during a measurement
	gpu    GPU        // nil until the first problem
	lost   error      // why the device can no longer be used, or nil
	own    map[string][]byte
	copies float64 // bytes per millisecond, measured with the first problem; 0 before
}

func (p *processor) Info() device.Info          { return p.about }
func (p *processor) Compiler() compile.Compiler { return p.Options.Compiler }
func (p *processor) Arch() string               { return p.Target }
func (p *processor) Close() error               { return p.Options.Compiler.Close() }

// do runs work on the GPU in one operating-system thread, because the context belongs to a thread.
func (p *processor) do(work func() error) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost != nil {
		return p.lost
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if p.gpu == nil {
		p.gpu, err = p.driver.Open(p.ordinal, 2*verify.GreatestSpell)
	} else {
		err = p.gpu.Enter()
	}
	if err == nil {
		err = work()
	}
	if isLost(err) {
		err = lost{err}
		p.lost = err
	}
	return err
}

func (p *processor) Open(ctx context.Context, problem *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	if proto.LaunchTimeout <= 0 {
		proto.LaunchTimeout = device.DefaultProtocol().LaunchTimeout
	}
	s, err := p.newSession(ctx, problem, proto)
	if err != nil {
		return nil, err
	}
	if problem.Operator.Answers == nil {
		if err = s.takeReference(reference); err != nil {
			return nil, err
		}
	}
	if err := p.do(func() error { return s.open(ctx) }); err != nil {
		return nil, errors.Join(err, s.removeFolder())
	}
	return s, nil
}

// Launch launches a variant once for a program that watches it, such as compute-sanitizer. Besides the variant, Launch
// runs only the kernels that fill tensors, so that every report concerns the variant. Launch allocates no spare memory
// behind a tensor, and compares nothing.
func (p *processor) Launch(ctx context.Context, problem *operator.Problem, proto device.Protocol, v device.Variant) (o trial.Outcome, err error) {
	s, err := p.newSession(ctx, problem, proto)
	if err != nil {
		return o, err
	}
	defer s.removeFolder()
	err = p.do(func() error {
		s.attach()
		for _, step := range []func() error{s.addFolder, s.loadKernels, s.tensors.allocateBare, s.fillInputs} {
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

// launchWatched launches a variant. The variant's module stays loaded until the process ends, because a program
// such as compute-sanitizer looks up the source places of its findings in the loaded module.
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
