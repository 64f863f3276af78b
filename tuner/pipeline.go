package tuner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// job is a configuration on its way from the compilers to the device.
type job struct {
	id      int64
	variant device.Variant
	trial   trial.Trial
}

// run drives the pipeline: compile workers draw configurations and compile
// them, the device evaluates what they finish.
func (s *search) run(ctx context.Context) error {
	start := time.Now()
	defer func() {
		s.breakdown.Wall = time.Since(start)
		s.breakdown.Wait = max(0, s.breakdown.Wall-s.breakdown.Open-s.breakdown.Verify-s.breakdown.Measure-s.breakdown.Finals)
		s.breakdown.Busy = float64(s.meter.total()) / float64(max(1, s.breakdown.Wall))
	}()
	if s.ledger.over() && s.recall() {
		return nil
	}
	stopped := context.AfterFunc(ctx, s.ledger.interrupt)
	defer stopped()

	if !s.ledger.deadline.IsZero() {
		defer time.AfterFunc(time.Until(s.ledger.deadline), func() { s.ledger.over() }).Stop()
	}

	group, inner := errgroup.WithContext(ctx)
	compiling, drop := context.WithCancel(inner)
	defer drop()
	s.ledger.whenEnough(drop)
	compiled := make(chan job, s.workers())
	group.Go(func() error {
		defer close(compiled)
		return s.compileAll(compiling, compiled)
	})
	group.Go(func() error { return s.wakeAll(s.evaluateAll(inner, compiled)) })
	watched := s.watchTarget(inner)
	err := group.Wait()
	<-watched
	if ctx.Err() != nil {
		// The ledger is told by a goroutine of its own, which may be late.
		s.ledger.interrupt()
	}
	if ctx.Err() != nil && isCancel(err) {
		return nil
	}
	return err
}

// wakeAll lets no worker wait for the ledger when a part of the pipeline failed.
func (s *search) wakeAll(err error) error {
	if err != nil {
		s.ledger.interrupt()
	}
	return err
}

func isCancel(err error) bool {
	return err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// compileAll runs the compile workers until the ledger has no more to draw.
func (s *search) compileAll(ctx context.Context, out chan<- job) error {
	group, ctx := errgroup.WithContext(ctx)
	for range s.workers() {
		group.Go(func() error {
			for {
				id, ok := s.ledger.draw()
				if !ok {
					return nil
				}
				if err := s.prepare(ctx, id, out); err != nil {
					s.ledger.abandon()
					if s.ledger.hasEnough() && isCancel(err) {
						return nil
					}
					return s.wakeAll(err)
				}
			}
		})
	}
	return group.Wait()
}

// prepare compiles one configuration and hands it on; one that does not
// compile is a finished trial.
func (s *search) prepare(ctx context.Context, id int64, out chan<- job) error {
	c := s.space.At(id)
	k, err := s.problem.Kernel(c)
	if err != nil {
		return fmt.Errorf("prepare %s: %w", c, err)
	}
	j := job{id: id, trial: trial.New(c, k), variant: device.Variant{Configuration: c, Kernel: k}}
	if s.compiler != nil {
		s.meter.compileStarts()
		j.variant.Binary, err = s.compile(ctx, k, &j.trial)
		s.meter.compileEnds()
		if err != nil {
			return err
		}
		if j.variant.Binary == nil {
			return s.finish(id, j.trial)
		}
	}
	select {
	case out <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// compilerPatience is how many times the limit of a compilation the search
// waits for the compiler's answer.
const compilerPatience = 10

// compile turns a kernel into a binary. No binary and no error: the source was
// refused, and t says so.
func (s *search) compile(ctx context.Context, k operator.Kernel, t *trial.Trial) (*compile.Binary, error) {
	// The compiler keeps to the time, from when it begins: the first compilation
	// may have to wait until the compiler itself is ready. The limit here is for
	// one that does not come back.
	limited, cancel := context.WithTimeout(ctx, compilerPatience*s.Protocol.CompileTimeout)
	defer cancel()
	start := time.Now()
	b, err := s.compiler.Compile(limited, compile.Request{Kernel: k, Arch: s.device.Arch(), Timeout: s.Protocol.CompileTimeout})
	t.Phases.CompileMS = time.Since(start).Seconds() * 1000
	var refused *compile.Error
	switch {
	case err == nil:
		return b, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &refused):
		t.Status, t.Message = trial.CompileError, refused.Error()
		return nil, nil
	case limited.Err() != nil:
		t.Status, t.Message = trial.CompileError, fmt.Sprintf("the compiler did not come back within %s", compilerPatience*s.Protocol.CompileTimeout)
		return nil, nil
	}
	return nil, fmt.Errorf("compile %s: %w", k.File, err)
}

// evaluateAll opens the device's session and evaluates what the compilers
// finish, one variant at a time.
func (s *search) evaluateAll(ctx context.Context, in <-chan job) error {
	session, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	s.ceilings = session.Ceilings()
	s.ceilings.Baselines = s.elsewhere()
	for j := range in {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s.ledger.hasEnough() {
			s.ledger.abandon()
			continue
		}
		s.meter.deviceStarts()
		o, err := session.Evaluate(ctx, j.variant, s.ledger.bestMS())
		s.meter.deviceEnds()
		if err != nil {
			return fmt.Errorf("evaluate %s: %w", j.variant.Configuration, err)
		}
		if o.Notice != "" {
			s.warnings = append(s.warnings, o.Notice)
		}
		if err := s.finish(j.id, j.trial.With(o)); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.finals(ctx, session)
}

// open prepares the device for the problem, reference and all.
func (s *search) open(ctx context.Context) (device.Session, error) {
	start := time.Now()
	defer func() { s.breakdown.Open = time.Since(start) }()
	var binary *compile.Binary
	if s.compiler != nil {
		var err error
		binary, err = s.compiler.Compile(ctx, compile.Request{Kernel: s.reference, Arch: s.device.Arch()})
		if err != nil {
			return nil, fmt.Errorf("compile the reference: %w", err)
		}
	}
	s.meter.deviceStarts()
	defer s.meter.deviceEnds()
	return s.device.Open(ctx, s.problem, binary, s.Protocol)
}

// finish enters a trial into the ledger and the store.
func (s *search) finish(id int64, t trial.Trial) error {
	s.breakdownLock.Lock()
	s.breakdown.add(t.Phases)
	s.breakdownLock.Unlock()
	if err := s.keep(t); err != nil {
		return err
	}
	s.ledger.enter(id, t)
	return nil
}
