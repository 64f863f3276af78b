package tuner

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	outcome trial.Outcome
	err     error
}

// opening is what came of preparing the device for the problem.
type opening struct {
	session  device.Session
	ceilings device.Ceilings
	span     span
	err      error
}

// deviceShare is how many jobs a device has at once: the one that it evaluates
// and the next, so that it does not wait for the loop between two.
const deviceShare = 2

// mostCompilations is how many run side by side at most, wherever they do.
const mostCompilations = 8 * device.MostWorkers

// stages are the goroutines beside the search's loop. No channel ever blocks
// one of them: each has room for all that can be on the way to the loop.
type stages struct {
	toCompile chan int64
	compiled  chan job
	compilers int // goroutines that take from toCompile; only the loop touches it
	toDevice  chan job
	servers   chan int // how many more goroutines are to take from toDevice
	serving   int      // that do, or were asked for; only the loop touches it
	opened    chan opening
	evaluated chan job
	chances   chan float64

	compiling context.Context    // of the compilations
	drop      context.CancelFunc // ends those under way
	cancel    context.CancelFunc // ends everything under way
	cancelled func() bool        // whether everything under way was ended
	group     sync.WaitGroup
	work      *workLog
}

func (s *search) startStages(ctx context.Context) *stages {
	ctx, cancel := context.WithCancel(ctx)
	compiling, drop := context.WithCancel(ctx)
	compilations, share := s.workers(), deviceShare
	if s.pool != nil { // its workers come and go
		compilations, share = mostCompilations, deviceShare*device.MostWorkers
	}
	st := &stages{
		toCompile: make(chan int64, compilations), compiled: make(chan job, compilations), compiling: compiling,
		toDevice: make(chan job, deviceShare-1), servers: make(chan int, share), evaluated: make(chan job, share),
		opened: make(chan opening, 1), chances: make(chan float64, 1),
		drop: drop, cancel: cancel, cancelled: func() bool { return ctx.Err() != nil }, work: &workLog{},
	}
	st.group.Go(func() { s.serveDevice(ctx, st) })
	return st
}

// staff has as many goroutines at the stages as there is work for: those of
// workers that have come are started, and none is ever too many.
func (s *search) staff(st *stages) {
	for ; st.compilers < s.workers(); st.compilers++ {
		st.group.Go(func() {
			for id := range st.toCompile {
				st.compiled <- s.prepare(st.compiling, st, id)
			}
		})
	}
	want := 1
	if s.pool != nil { // the job that a worker takes next waits with it, not here
		want = s.share()
	}
	if want > st.serving {
		st.servers <- want - st.serving
		st.serving = want
	}
}

// close ends the stages; what the device finished by then is left in evaluated.
func (st *stages) close() {
	st.cancel()
	close(st.toCompile)
	close(st.toDevice)
	close(st.servers)
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
	j := job{id: id, trial: trial.New(c, k), variant: device.Variant{Configuration: c, Kernel: k, Energy: slices.Contains(s.Objective.needs(s.problem.Operator), "energy")}}
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
	b, err := s.compiler.Compile(limited, compile.Request{Kernel: k, Arch: s.device.Arch(), Timeout: s.Protocol.CompileTimeout, Problem: s.problem, Configuration: t.Configuration})
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

// serveDevice opens the device's session, in which each of the goroutines that
// staff asks for evaluates one variant at a time.
func (s *search) serveDevice(ctx context.Context, st *stages) {
	o := s.openSession(ctx, st)
	st.opened <- o
	if o.err != nil {
		return
	}
	defer o.session.Close()
	var serving sync.WaitGroup
	for more := range st.servers {
		for range more {
			serving.Go(func() { serve(ctx, st, o.session) })
		}
	}
	serving.Wait()
}

func serve(ctx context.Context, st *stages, session device.Session) {
	for j := range st.toDevice {
		if j.err = ctx.Err(); j.err == nil {
			start := time.Now()
			j.outcome, j.err = session.Evaluate(ctx, j.variant, j.best)
			st.work.evaluated(spanSince(start))
		}
		if j.err != nil {
			j.err = fmt.Errorf("evaluate %s: %w", j.variant.Configuration, j.err)
		}
		st.evaluated <- j
	}
}

// openSession prepares the device for the problem, reference and all.
func (s *search) openSession(ctx context.Context, st *stages) (o opening) {
	start := time.Now()
	defer func() { o.span = spanSince(start) }()
	binary, err := device.CompileReference(ctx, s.device, s.problem, 0)
	if err != nil {
		o.err = err
		return o
	}
	from := time.Now()
	o.session, o.err = s.device.Open(ctx, s.problem, binary, s.Protocol)
	st.work.evaluated(spanSince(from))
	if o.err == nil {
		o.ceilings = o.session.Ceilings()
	}
	return o
}

// estimate works out beside the search what chance is left, and says it on
// chances.
func (st *stages) estimate(sp *space.Space, seen []strategy.Seen, target float64, seed uint64) {
	st.group.Go(func() { st.chances <- strategy.Chance(sp, seen, target, seed) })
}
