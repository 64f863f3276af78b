package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/remote"
	"autotune/tuner/device/remote/broker"
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

// open makes a problem known, and has a worker open it. Workers make the reference anew.
func (p *Pool) open(ctx context.Context, worker string, problem *operator.Problem, _ *compile.Binary, proto device.Protocol) (device.Session, error) {
	key, err := p.problems.key(ctx, problem, proto)
	if err != nil {
		return nil, err
	}
	s := &session{pool: p, problem: problem, key: key, worker: worker, inputs: proto.Inputs()}
	a, err := s.ask(ctx, remote.Request{Kind: remote.Open})
	s.ceilings = a.Ceilings
	return s, err
}

// ask has a job done.
func (s *session) ask(ctx context.Context, q remote.Request) (remote.Response, error) {
	s.mu.Lock()
	q.Problem, q.Inputs = s.key, s.inputs
	s.mu.Unlock()
	subject := broker.EvaluateSubject(s.pool.model.Group)
	if s.worker != "" {
		subject = broker.OnlySubject(s.worker)
	}
	return s.pool.ask(ctx, subject, q, s.problem.Operator.Name, "", s.worker)
}

// ask has a job done, and gives a fault the identity that callers of a device test for.
func (p *Pool) ask(ctx context.Context, subject string, q remote.Request, operator, file, worker string) (remote.Response, error) {
	a, err := p.post.ask(ctx, subject, q, p.roster.Watch(worker, p.options.Patience))
	if err != nil || a.Fault == nil {
		return a, err
	}
	err = a.Fault.Err(operator, file)
	if a.Fault.Kind == remote.NoMemory || a.Fault.Kind == remote.Trouble {
		err = fmt.Errorf("worker %s: %w", a.Worker, err)
	}
	return a, err
}

// outcome is an answer's, with who gave it. A binary that no worker could make anew is
// the variant's fault.
func outcome(a remote.Response, err error) (trial.Outcome, error) {
	var refused *compile.Error
	if errors.As(err, &refused) {
		return trial.Outcome{Status: trial.CompileError, Message: refused.Text(), Worker: a.Worker}, nil
	}
	o := a.Outcome
	o.Notice, o.Worker, o.ControlMS = a.Notice, a.Worker, a.ControlMS
	return o, err
}

func (s *session) Ceilings() device.Ceilings { return s.ceilings }

func (s *session) Evaluate(ctx context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	return outcome(s.ask(ctx, remote.Request{Kind: remote.Evaluate, Configuration: v.Configuration, Digest: v.Kernel.Digest(), Best: best, Energy: v.Energy, Look: v.Look}))
}

func (s *session) Check(ctx context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	a, err := s.ask(ctx, remote.Request{Kind: remote.Check, Configuration: v.Configuration, Digest: v.Kernel.Digest(), Check: c})
	o, err := outcome(a, err)
	return o, a.Launches, err
}

// Refill has what follows done on other inputs. Each worker draws them itself.
func (s *session) Refill(ctx context.Context, in device.Inputs) error {
	s.mu.Lock()
	s.inputs = in
	s.mu.Unlock()
	_, err := s.ask(ctx, remote.Request{Kind: remote.Refill})
	return err
}

// Close leaves the problem to the workers, which close it when they need the room.
func (s *session) Close() error { return nil }

// compiler compiles on the workers, whose binaries stay with them.
type compiler struct{ pool *Pool }

func (c compiler) Version() string { return c.pool.Info().Compiler }

// Bounds on compilations: how far they are ahead of a worker, and how long one may take.
const (
	compilersAWorker = 16
	mostCompiling    = 10 * time.Minute
)

// Workers is how many compilations are worth running at once.
func (c compiler) Workers() int {
	return max(1, min(c.pool.roster.Compilers(), compilersAWorker*max(1, len(c.pool.Workers()))))
}

// Compile has a worker make the kernel and compile it. The binary has no code: where it
// runs, it is known by its kernel.
func (c compiler) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	if r.Problem == nil {
		return nil, errors.New("the workers of a pool compile kernels of problems only")
	}
	proto := device.ProtocolFor(r.Problem.Operator)
	key, err := c.pool.problems.key(ctx, r.Problem, proto)
	if err != nil {
		return nil, err
	}
	a, err := c.pool.ask(ctx, broker.CompileSubject(c.pool.model.Group), remote.Request{
		Kind: remote.Compile, Problem: key, Configuration: r.Configuration, Digest: r.Kernel.Digest(), Limit: min(r.Timeout, mostCompiling), Inputs: proto.Inputs(),
	}, r.Problem.Operator.Name, r.Kernel.File, "")
	if err != nil {
		return nil, err
	}
	return &compile.Binary{Log: a.Compiled.Log, Duration: a.Compiled.Duration, Cached: a.Compiled.Cached}, nil
}

// Close does nothing: the compilers are the workers'.
func (c compiler) Close() error { return nil }
