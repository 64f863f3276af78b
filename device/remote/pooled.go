package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
)

// pooled is a problem that is open on one member of a pool or on all members. A member of a pool opens a problem
// when it gets its first job for the problem.
type pooled struct {
	pool      *Pool
	only      string // the only member to use; "" for any member
	problem   *operator.Problem
	reference *compile.Binary
	proto     device.Protocol

	mu       sync.Mutex
	inputs   device.Inputs
	first    string          // the member that opened the problem first
	ceilings device.Ceilings // the first member's
	open     map[*member]*opened
}

// opened is the problem's session on one member. Only the goroutine that has reserved the member uses the session.
type opened struct {
	device.Session
	inputs device.Inputs
}

// Open prepares a problem on the first member that is free.
func (p *Pool) Open(
	ctx context.Context, problem *operator.Problem, reference *compile.Binary, proto device.Protocol,
) (device.Session, error) {
	return p.open(ctx, "", problem, reference, proto)
}

func (p *Pool) open(
	ctx context.Context, only string, problem *operator.Problem, reference *compile.Binary, proto device.Protocol,
) (device.Session, error) {
	s := &pooled{
		pool: p, only: only, problem: problem, reference: reference, proto: proto,
		inputs: proto.Inputs(), open: map[*member]*opened{},
	}
	if err := s.do(ctx, "", func(*opened, *member) error { return nil }); err != nil {
		return nil, err
	}
	return s, nil
}

// do has a member of the pool carry out a job with the current inputs.
func (s *pooled) do(ctx context.Context, kernel string, job func(*opened, *member) error) error {
	var unopened error // an error of opening the problem on a member
	err := s.pool.do(ctx, want{only: s.only, kernel: kernel}, func(m *member) error {
		one, err := s.on(ctx, m)
		if err != nil && !errors.Is(err, device.ErrGone) {
			if unopened = err; endsMember(err) {
				unopened = fmt.Errorf("worker %s: %w", m.Name, err)
			}
			return nil
		}
		if err == nil {
			err = job(one, m)
		}
		return err
	})
	return errors.Join(err, unopened)
}

// on returns the problem's session on a member, opened if necessary and with the current inputs.
func (s *pooled) on(ctx context.Context, m *member) (*opened, error) {
	s.mu.Lock()
	one, inputs := s.open[m], s.inputs
	s.mu.Unlock()
	if one == nil {
		session, err := m.Device.Open(ctx, s.problem, s.reference, s.proto)
		if err != nil {
			return nil, err
		}
		one = &opened{session, s.proto.Inputs()}
		s.opened(m, one)
	}
	if one.inputs != inputs {
		if err := one.Refill(ctx, inputs); err != nil {
			return nil, err
		}
		one.inputs = inputs
	}
	return one, nil
}

// slower is the ratio of the reference's times on two members of a pool above which the user is warned.
const slower = 1.05

func (s *pooled) opened(m *member, one *opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[m] = one
	if s.first == "" {
		s.first, s.ceilings = m.Name, one.Ceilings()
	}
	own, first := one.Ceilings().ReferenceMS, s.ceilings.ReferenceMS
	if max(own, first) > slower*min(own, first) && s.pool.Info().Kind.Properties().Measures {
		s.pool.options.Say(fmt.Sprintf("the reference takes %.4g ms on worker %s, and %.4g ms on worker %s: "+
			"one of them may be throttled or shared", own, m.Name, first, s.first))
	}
}

func (s *pooled) Ceilings() device.Ceilings { return s.ceilings }

func (s *pooled) Evaluate(ctx context.Context, v device.Variant, best float64) (o trial.Outcome, err error) {
	err = s.do(ctx, v.Kernel.Digest(), func(one *opened, m *member) (err error) {
		o, err = one.Evaluate(ctx, v, best)
		o.Worker = m.Name
		return err
	})
	return outcome(o, err)
}

func (s *pooled) Check(ctx context.Context, v device.Variant, c device.Check) (o trial.Outcome, launches int, err error) {
	err = s.do(ctx, v.Kernel.Digest(), func(one *opened, m *member) (err error) {
		o, launches, err = one.Check(ctx, v, c)
		o.Worker = m.Name
		return err
	})
	o, err = outcome(o, err)
	return o, launches, err
}

// outcome turns errors that a variant caused into a failure of the variant. If a worker cannot compile a kernel anew,
// or if a kernel ended every worker that began it, the variant's outcome is a failure.
func outcome(o trial.Outcome, err error) (trial.Outcome, error) {
	var refused *compile.Error
	switch {
	case errors.As(err, &refused):
		return trial.Outcome{Status: trial.CompileError, Message: refused.Text(), Worker: o.Worker}, nil
	case errors.Is(err, errDeadly):
		return trial.Outcome{Status: trial.Crashed, Message: err.Error()}, nil
	}
	return o, err
}

// Refill changes the inputs of later jobs. One member generates the new inputs now, and every other member generates
// them before its next job.
func (s *pooled) Refill(ctx context.Context, in device.Inputs) error {
	s.mu.Lock()
	s.inputs = in
	s.mu.Unlock()
	return s.do(ctx, "", func(*opened, *member) error { return nil })
}

// Close closes the problem on all members that have opened it.
func (s *pooled) Close() error {
	limited, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []error
	for m, one := range s.open {
		w := want{only: m.Name}
		taken, err := s.pool.take(limited, w) // m, or the member that replaced it
		closed := one.Close()
		if err == nil {
			s.pool.release(taken, w, false, nil)
			all = append(all, closed)
		}
	}
	clear(s.open)
	return errors.Join(all...)
}

// one is a single member of a pool, as a device of its own.
type one struct {
	pool *Pool
	name string
}

func (o one) Info() device.Info { return o.pool.Info() }
func (o one) Arch() string      { return o.pool.Arch() }
func (o one) Close() error      { return nil }

func (o one) Compiler() compile.Compiler {
	if o.pool.options.Compile {
		return poolCompiler{o.pool, o.name}
	}
	return part{o.pool.Compiler(), len(o.pool.Workers())}
}

func (o one) Open(
	ctx context.Context, p *operator.Problem, reference *compile.Binary, proto device.Protocol,
) (device.Session, error) {
	return o.pool.open(ctx, o.name, p, reference, proto)
}

// part gives one member of a pool its share of a compiler that several members use; closing a part leaves the
// compiler open.
type part struct {
	compile.Compiler
	workers int
}

func (c part) Workers() int { return max(1, c.Compiler.Workers()/max(1, c.workers)) }

func (c part) Close() error { return nil }

// poolCompiler compiles each kernel on a member of the pool, which then also evaluates the kernel.
type poolCompiler struct {
	pool *Pool
	only string // the only member to use; "" for any member
}

func (c poolCompiler) Version() string { return c.pool.Info().Compiler }

// mostCompiling is the largest number of kernels that one member is given to compile at once.
const mostCompiling = 16

func (c poolCompiler) Workers() (total int) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	for _, m := range c.pool.ready() {
		if c.only == "" || m.Name == c.only {
			total += min(m.Compilers, mostCompiling)
		}
	}
	return max(1, total)
}

func (c poolCompiler) Compile(ctx context.Context, r compile.Request) (b *compile.Binary, err error) {
	digest := r.Kernel.Digest()
	err = c.pool.do(ctx, want{only: c.only, kernel: digest, compiles: true}, func(m *member) error {
		if b, err = m.Device.Compiler().Compile(ctx, r); err == nil {
			c.pool.mu.Lock()
			c.pool.built[digest] = m.Name
			c.pool.mu.Unlock()
		}
		return err
	})
	if errors.Is(err, errDeadly) {
		return nil, &compile.Error{File: r.Kernel.File, Message: err.Error(), Crashed: true}
	}
	return b, err
}

func (c poolCompiler) Close() error { return nil }
