package poolworker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/pool/wire"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// errSearchGone means that nobody waits for a job's answer any more.
var errSearchGone = errors.New("the search is gone")

// prepared is what a job needs to be done.
type prepared struct {
	problem *problem
	kernel  operator.Kernel
	binary  *compile.Binary
}

// prepare makes what a job is about. A configuration's kernel must be the one that the
// search has.
func (w *worker) prepare(ctx context.Context, j wire.Job) (p prepared, err error) {
	if p.problem, err = w.problem(ctx, j.Problem); err != nil {
		return p, err
	}
	if j.Kind == wire.Open || j.Kind == wire.Refill {
		return p, nil
	}
	p.kernel, err = p.problem.Reference()
	if j.Template != "" {
		p.kernel, err = p.problem.Kernel(j.Configuration)
	}
	if err != nil {
		return p, err
	}
	if digest := p.kernel.Digest(); digest != j.Digest {
		return p, fmt.Errorf("the kernel of %s is another here: the search and its workers must be of one version", j.Configuration)
	}
	p.binary, err = w.binary(ctx, p.kernel, j.Limit)
	return p, err
}

// compileJobs compiles for searches, one after another.
func (w *worker) compileJobs(ctx context.Context) {
	w.each(ctx, wire.CompileSubject(w.group), "compile-"+w.group, unused, func() bool { return true }, func(t *task) {
		if w.tooOften(ctx, t) {
			return
		}
		begin := time.Now()
		p, err := w.prepare(ctx, t.job)
		switch {
		case err != nil:
			w.fail(ctx, t, err)
		default:
			w.answer(ctx, t, wire.Answer{Compiled: &wire.Compiled{Log: first(p.binary.Log), Duration: time.Since(begin), Cached: p.binary.Cached}})
		}
	})
}

// logBytes bounds the compiler's words in an answer.
const logBytes = 64 << 10

func first(text string) string { return text[:min(len(text), logBytes)] }

// tooOften answers for a job that outlived as many workers as one may.
func (w *worker) tooOften(ctx context.Context, t *task) bool {
	n := t.deliveries()
	if n <= wire.Deliveries {
		return false
	}
	message := fmt.Sprintf("it was handed out %d times, and each time its worker ended or was not heard of any more", n-1)
	if t.job.Kind == wire.Evaluate || t.job.Kind == wire.Check {
		w.answer(ctx, t, wire.Answer{Outcome: trial.Outcome{Status: trial.Crashed, Message: message}})
		return true
	}
	w.answer(ctx, t, wire.Answer{Fault: &wire.Fault{Kind: wire.Refused, Message: message, Crashed: true}})
	return true
}

// fail answers with why a job could not be done, if anybody wants to know.
func (w *worker) fail(ctx context.Context, t *task, err error) {
	switch {
	case ctx.Err() != nil:
		w.giveBack(t)
	case errors.Is(err, errSearchGone):
		t.done()
	default:
		w.answer(ctx, t, wire.Answer{Fault: faultOf(err)})
	}
}

// faultOf keeps of an error what the search asks about.
func faultOf(err error) *wire.Fault {
	f := &wire.Fault{Kind: wire.Trouble, Message: err.Error()}
	var refused *compile.Error
	var reference *device.ReferenceError
	switch {
	case errors.As(err, &reference):
		f.Kind, f.Part, f.Message, f.Log = wire.BadReference, reference.Part, reference.Fault, first(reference.Log)
	case errors.As(err, &refused):
		*f = wire.Fault{Kind: wire.Refused, Message: refused.Message, Log: first(refused.Log), File: refused.File, Line: refused.Line, Timeout: refused.Timeout, Crashed: refused.Crashed}
	case errors.Is(err, device.ErrMemory):
		f.Kind = wire.NoMemory
	}
	return f
}

// evaluateJobs is all that the device does: jobs, one at a time, those for this worker
// alone first, and the control between them.
func (w *worker) evaluateJobs(ctx context.Context, any, only <-chan *task) error {
	again := time.NewTimer(w.untilControl())
	defer again.Stop()
	for {
		var err error
		select {
		case t := <-only:
			err = w.do(ctx, t)
		default:
			select {
			case t := <-only:
				err = w.do(ctx, t)
			case t := <-any:
				if !w.ready() {
					w.giveBack(t)
					continue
				}
				err = w.do(ctx, t)
			case <-again.C:
				err = w.timeControl(ctx)
				again.Reset(w.untilControl())
				w.sessions.sweep(ctx, w.searchIsGone)
			case <-ctx.Done():
				return nil
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// do does one job. An error is the device's: it can do no more.
func (w *worker) do(ctx context.Context, t *task) error {
	if w.tooOften(ctx, t) {
		return nil
	}
	if t.err != nil {
		w.fail(ctx, t, t.err)
		return nil
	}
	s, err := w.session(ctx, t.job.Problem, t.problem, t.job.Inputs)
	if err != nil {
		w.fail(ctx, t, err)
		return nil
	}
	a := wire.Answer{Ceilings: s.Ceilings()}
	v := device.Variant{Configuration: t.job.Configuration, Kernel: t.kernel, Binary: t.binary, Energy: t.job.Energy, Look: t.job.Look}
	switch t.job.Kind {
	case wire.Evaluate:
		a.Outcome, err = s.Evaluate(ctx, v, t.job.Best)
	case wire.Check:
		a.Outcome, a.Launches, err = s.Check(ctx, v, t.job.Check)
	}
	if err != nil {
		if ctx.Err() != nil {
			w.giveBack(t)
		}
		t.stop() // it comes to another worker when this one has ended
		return fmt.Errorf("%s: %w", t.job.Configuration, err)
	}
	a.Outcome.MaxAbsError = trial.Finite(a.Outcome.MaxAbsError)
	a.Notice = a.Outcome.Notice
	w.count()
	w.answer(ctx, t, a)
	return nil
}
