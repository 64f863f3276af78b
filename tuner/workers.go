package tuner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// staff has as many goroutines at the stages as there is work for. Those for workers that
// have come are started, and none is ever too many.
func (st *stages) staff() {
	for ; st.compilers < st.workers(); st.compilers++ {
		st.group.Go(func() {
			for j := range st.toCompile {
				st.compiled <- st.prepare(st.compilations, j)
			}
		})
	}
	want := 1
	if st.pool != nil { // the job that a worker takes next waits with it, not here
		want = st.share()
	}
	if want > st.serving {
		st.servers <- want - st.serving
		st.serving = want
	}
}

// prepare turns a configuration into a variant. One that does not compile comes back with
// that status.
func (st *stages) prepare(ctx context.Context, j job) job {
	c := st.space.At(j.id)
	k, err := st.problem.Kernel(c)
	if err != nil {
		j.err = fmt.Errorf("prepare %s: %w", c, err)
		return j
	}
	j.trial, j.variant = trial.New(c, k), device.Variant{Configuration: c, Kernel: k, Energy: st.energy}
	if st.can.Compiles {
		start := time.Now()
		j.variant.Binary, j.err = st.compile(ctx, k, &j.trial)
		st.log.compiled(start)
	}
	return j
}

// compilerPatience is how many times the limit of a compilation the search waits for the
// compiler's answer.
const compilerPatience = 10

// compile turns a kernel into a binary. No binary and no error: the source was refused, and
// t says so.
func (st *stages) compile(ctx context.Context, k operator.Kernel, t *trial.Trial) (*compile.Binary, error) {
	// The compiler keeps to the time, from when it begins: the first compilation may have
	// to wait until the compiler itself is ready. The limit here is for one that does not
	// come back.
	limit := compilerPatience * st.protocol.CompileTimeout
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := time.Now()
	b, err := st.device.Compiler().Compile(limited, compile.Request{
		Kernel: k, Arch: st.device.Arch(), Timeout: st.protocol.CompileTimeout, Problem: st.problem, Configuration: t.Configuration,
	})
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
		t.Status, t.Message = trial.CompileError, fmt.Sprintf("the compiler did not come back within %s", limit)
		return nil, nil
	}
	return nil, fmt.Errorf("compile %s: %w", k.File, err)
}

// serve opens the device's session, in which each of the goroutines that staff asks for
// evaluates one variant at a time.
func (st *stages) serve(ctx context.Context) {
	o := st.prepareDevice(ctx)
	st.opened <- o
	if o.err != nil {
		return
	}
	defer o.session.Close()
	var serving sync.WaitGroup
	for more := range st.servers {
		for range more {
			serving.Go(func() { st.evaluate(ctx, o.session) })
		}
	}
	serving.Wait()
}

func (st *stages) evaluate(ctx context.Context, session device.Session) {
	for j := range st.toDevice {
		if j.err = ctx.Err(); j.err == nil {
			start := time.Now()
			j.outcome, j.err = session.Evaluate(ctx, j.variant, j.best)
			st.log.evaluated(start)
		}
		if j.err != nil {
			j.err = fmt.Errorf("evaluate %s: %w", j.variant.Configuration, j.err)
		}
		st.evaluated <- j
	}
}

// prepareDevice opens the device for the problem, reference and all.
func (st *stages) prepareDevice(ctx context.Context) (o opening) {
	start := time.Now()
	defer func() { o.took = time.Since(start) }()
	reference, err := device.CompileReference(ctx, st.device, st.problem, 0)
	if err != nil {
		o.err = err
		return o
	}
	from := time.Now()
	o.session, o.err = st.device.Open(ctx, st.problem, reference, st.protocol)
	st.log.evaluated(from)
	return o
}
