package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/pool/wire"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// session is a problem on all workers, or on one.
type session struct {
	pool     *Pool
	problem  *operator.Problem
	key      string
	worker   string // "": any
	ceilings device.Ceilings

	mu     sync.Mutex
	inputs device.Inputs
}

// open makes a problem known, and has a worker open it.
func (p *Pool) open(ctx context.Context, problem *operator.Problem, proto device.Protocol, worker string) (device.Session, error) {
	key, err := p.problems.key(ctx, problem, proto)
	if err != nil {
		return nil, err
	}
	s := &session{pool: p, problem: problem, key: key, worker: worker, inputs: proto.Inputs()}
	a, err := s.ask(ctx, wire.Job{Kind: wire.Open})
	s.ceilings = a.Ceilings
	return s, err
}

// ask has a job done.
func (s *session) ask(ctx context.Context, j wire.Job) (wire.Answer, error) {
	s.mu.Lock()
	j.Problem, j.Inputs = s.key, s.inputs
	s.mu.Unlock()
	subject, there := wire.EvaluateSubject(s.pool.members.model.Group), s.pool.someone()
	if s.worker != "" {
		subject, there = wire.OnlySubject(s.worker), s.pool.one(s.worker)
	}
	a, err := s.pool.post.ask(ctx, subject, j, there)
	if err == nil && a.Fault != nil {
		err = s.errorOf(a)
	}
	return a, err
}

// errorOf gives a fault the identity that callers of a device test for.
func (s *session) errorOf(a wire.Answer) error {
	switch f := a.Fault; f.Kind {
	case wire.BadReference:
		return &device.ReferenceError{Operator: s.problem.Operator.Name, Part: f.Part, Fault: f.Message, Log: f.Log}
	case wire.NoMemory:
		return fmt.Errorf("worker %s: %s: %w", a.Worker, f.Message, device.ErrMemory)
	case wire.Refused:
		return compileError(f)
	default:
		return fmt.Errorf("worker %s: %w", a.Worker, f)
	}
}

func compileError(f *wire.Fault) *compile.Error {
	return &compile.Error{File: f.File, Line: f.Line, Message: f.Message, Log: f.Log, Timeout: f.Timeout, Crashed: f.Crashed}
}

// outcome is an answer's, with who gave it. A binary that no worker could make anew is
// the variant's fault.
func outcome(a wire.Answer, err error) (trial.Outcome, error) {
	var refused *compile.Error
	if errors.As(err, &refused) {
		return trial.Outcome{Status: trial.CompileError, Message: refused.Text(), Worker: a.Worker}, nil
	}
	o := a.Outcome
	if err == nil && o.Status == "" {
		err = fmt.Errorf("worker %s answered without an outcome", a.Worker)
	}
	o.Notice, o.Worker, o.ControlMS = a.Notice, a.Worker, a.ControlMS
	return o, err
}

func (s *session) Ceilings() device.Ceilings { return s.ceilings }

func (s *session) Evaluate(ctx context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	return outcome(s.ask(ctx, wire.Job{Kind: wire.Evaluate, Configuration: v.Configuration, Digest: v.Kernel.Digest(), Best: best, Energy: v.Energy, Look: v.Look}))
}

func (s *session) Check(ctx context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	a, err := s.ask(ctx, wire.Job{Kind: wire.Check, Configuration: v.Configuration, Digest: v.Kernel.Digest(), Check: c})
	o, err := outcome(a, err)
	return o, a.Launches, err
}

// Refill has what follows done on other inputs; a worker of any draws them itself.
func (s *session) Refill(ctx context.Context, in device.Inputs) error {
	s.mu.Lock()
	s.inputs = in
	s.mu.Unlock()
	_, err := s.ask(ctx, wire.Job{Kind: wire.Refill})
	return err
}

// Close leaves the problem to the workers, which close it when they need the room.
func (s *session) Close() error { return nil }

// compiler compiles on the workers, whose binaries stay with them.
type compiler struct{ pool *Pool }

func (c compiler) Version() string { return c.pool.Info().Compiler }

// compilersAWorker bounds how far compiling is ahead of a worker.
const compilersAWorker = 16

// Workers is how many compilations are worth running at once.
func (c compiler) Workers() int {
	return max(1, min(c.pool.members.compilers(), compilersAWorker*max(1, len(c.pool.Workers()))))
}

// Compile has a worker make the kernel and compile it. The binary has no code: where it
// runs, it is known by its kernel.
func (c compiler) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	if r.Problem == nil {
		return nil, errors.New("the workers of a pool compile kernels of problems only")
	}
	key, err := c.pool.problems.key(ctx, r.Problem, device.ProtocolFor(r.Problem.Operator))
	if err != nil {
		return nil, err
	}
	limit := min(r.Timeout, mostCompiling)
	a, err := c.pool.post.ask(ctx, wire.CompileSubject(c.pool.members.model.Group), wire.Job{
		Kind: wire.Compile, Problem: key, Configuration: r.Configuration, Digest: r.Kernel.Digest(), Limit: limit,
		Inputs: device.ProtocolFor(r.Problem.Operator).Inputs(),
	}, c.pool.someone())
	switch {
	case err != nil:
		return nil, err
	case a.Fault != nil && a.Fault.Kind == wire.Refused:
		refused := compileError(a.Fault)
		refused.File = cmp.Or(refused.File, r.Kernel.File)
		return nil, refused
	case a.Fault != nil:
		return nil, fmt.Errorf("worker %s: %w", a.Worker, a.Fault)
	case a.Compiled == nil:
		return nil, fmt.Errorf("worker %s answered without a binary", a.Worker)
	}
	return &compile.Binary{Log: a.Compiled.Log, Duration: a.Compiled.Duration, Cached: a.Compiled.Cached}, nil
}

const mostCompiling = 10 * time.Minute

// Close does nothing: the compilers are the workers'.
func (c compiler) Close() error { return nil }
