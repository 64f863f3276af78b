package tuner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"autotune/space"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

// job is a configuration on its way through the stages. Each adds what it found
// out; err means that the stage itself cannot go on.
type job struct {
	id      int64
	variant device.Variant
	trial   trial.Trial
	best    float64 // fastest median when the device got it, for racing
	// work is what the device does instead of evaluating the variant; nil: nothing else.
	work    func(context.Context, device.Session) error
	outcome trial.Outcome
	err     error
}

// opening is what came of preparing the device for the problem.
type opening struct {
	ceilings device.Ceilings
	span     span
	err      error
}

// deviceShare is how many jobs the device has at once: the one that it evaluates
// and the next, so that it does not wait for the loop between two.
const deviceShare = 2

// stages are the goroutines beside the search's loop. No channel ever blocks
// one of them: each has room for all that can be on the way to the loop.
type stages struct {
	toCompile chan int64
	compiled  chan job
	toDevice  chan job
	opened    chan opening
	evaluated chan job
	chances   chan float64

	drop      context.CancelFunc // ends the compilations under way
	cancel    context.CancelFunc // ends everything under way
	cancelled func() bool        // whether everything under way was ended
	group     sync.WaitGroup
	work      *workLog
}

func (s *search) startStages(ctx context.Context) *stages {
	ctx, cancel := context.WithCancel(ctx)
	compiling, drop := context.WithCancel(ctx)
	workers := s.workers()
	st := &stages{
		toCompile: make(chan int64, workers), compiled: make(chan job, workers),
		toDevice: make(chan job, deviceShare-1), evaluated: make(chan job, deviceShare),
		opened: make(chan opening, 1), chances: make(chan float64, 1),
		drop: drop, cancel: cancel, cancelled: func() bool { return ctx.Err() != nil }, work: &workLog{},
	}
	for range workers {
		st.group.Go(func() {
			for id := range st.toCompile {
				st.compiled <- s.prepare(compiling, st, id)
			}
		})
	}
	st.group.Go(func() { s.serveDevice(ctx, st) })
	return st
}

// close ends the stages; what the device finished by then is left in evaluated.
func (st *stages) close() {
	st.cancel()
	close(st.toCompile)
	close(st.toDevice)
	st.group.Wait()
	close(st.evaluated)
}

// prepare turns a configuration into a variant. One that does not compile comes
// back with that status.
func (s *search) prepare(ctx context.Context, st *stages, id int64) job {
	c := s.space.At(id)
	k, err := s.problem.Kernel(c)
	if err != nil {
		return job{id: id, err: fmt.Errorf("prepare %s: %w", c, err)}
	}
	j := job{id: id, trial: trial.New(c, k), variant: device.Variant{Configuration: c, Kernel: k, Energy: s.wantsEnergy()}}
	if s.can.Compiles {
		start := time.Now()
		j.variant.Binary, j.err = s.compile(ctx, k, &j.trial)
		st.work.compiled(spanSince(start))
	}
	return j
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
		t.Log = b.Log
		return b, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &refused):
		t.Status, t.Message, t.Log = trial.CompileError, refused.Text(), refused.Log
		return nil, nil
	case limited.Err() != nil:
		t.Status, t.Message = trial.CompileError, fmt.Sprintf("the compiler did not come back within %s", compilerPatience*s.Protocol.CompileTimeout)
		return nil, nil
	}
	return nil, fmt.Errorf("compile %s: %w", k.File, err)
}

// serveDevice opens the device's session and evaluates one variant at a time.
func (s *search) serveDevice(ctx context.Context, st *stages) {
	session, o := s.openSession(ctx, st)
	st.opened <- o
	if o.err != nil {
		return
	}
	defer session.Close()
	for j := range st.toDevice {
		if j.err = ctx.Err(); j.err == nil {
			start := time.Now()
			if j.work != nil {
				j.err = j.work(ctx, session)
			} else {
				j.outcome, j.err = session.Evaluate(ctx, j.variant, j.best)
			}
			st.work.evaluated(spanSince(start))
		}
		if j.err != nil {
			j.err = fmt.Errorf("evaluate %s: %w", j.variant.Configuration, j.err)
		}
		st.evaluated <- j
	}
}

// evaluateNow hands the device a job and waits for it: when the search's own are
// done.
func (s *search) evaluateNow(j job) job {
	s.stages.toDevice <- j
	return <-s.stages.evaluated
}

// openSession prepares the device for the problem, reference and all.
func (s *search) openSession(ctx context.Context, st *stages) (session device.Session, o opening) {
	start := time.Now()
	defer func() { o.span = spanSince(start) }()
	var binary *compile.Binary
	if s.can.Compiles {
		binary, o.err = compileReference(ctx, s.compiler, s.problem, compile.Request{Arch: s.device.Arch()})
		var refused *compile.Error
		if errors.As(o.err, &refused) {
			o.err = device.NotCompiled(s.problem.Operator.Name, "", refused)
		} else if o.err != nil {
			o.err = fmt.Errorf("compile the reference: %w", o.err)
		}
		if o.err != nil {
			return nil, o
		}
	}
	opening := time.Now()
	session, o.err = s.device.Open(ctx, s.problem, binary, s.Protocol)
	st.work.evaluated(spanSince(opening))
	if o.err == nil {
		o.ceilings = session.Ceilings()
	}
	return session, o
}

// estimate works out beside the search what chance is left, and says it on
// chances.
func (st *stages) estimate(sp *space.Space, seen []strategy.Seen, target float64, seed uint64) {
	st.group.Go(func() { st.chances <- strategy.Chance(sp, seen, target, seed) })
}
