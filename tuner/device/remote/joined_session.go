package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// joinedSession is a problem on the members of a Joined, or on one of them.
type joinedSession struct {
	pool      *Joined
	only      string // the member; "": any
	problem   *operator.Problem
	reference *compile.Binary
	proto     device.Protocol

	mu       sync.Mutex
	inputs   device.Inputs
	ceilings *device.Ceilings // nil until a member has opened the problem
	open     map[*member]*hosted
}

func (p *Joined) openOn(ctx context.Context, only string, problem *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	s := &joinedSession{pool: p, only: only, problem: problem, reference: reference, proto: proto, inputs: proto.Inputs(), open: map[*member]*hosted{}}
	m, err := p.take(ctx, only)
	if err != nil {
		return nil, err
	}
	defer p.release(m)
	if _, err := s.on(ctx, m); err != nil {
		return nil, err
	}
	return s, nil
}

// on is the problem on a member that is taken, with the inputs of the moment.
func (s *joinedSession) on(ctx context.Context, m *member) (*hosted, error) {
	s.mu.Lock()
	one, inputs, known := s.open[m], s.inputs, s.ceilings
	s.mu.Unlock()
	if one == nil {
		opened, err := open(ctx, m.Device, s.problem, s.reference, s.proto, known)
		if err != nil {
			return nil, err
		}
		one = &hosted{Session: opened, inputs: s.proto.Inputs(), release: func() {}}
	}
	s.mu.Lock()
	if s.ceilings == nil {
		c := one.Ceilings()
		s.ceilings = &c
	}
	s.open[m] = one
	s.mu.Unlock()
	if one.inputs == inputs {
		return one, nil
	}
	if err := one.Refill(ctx, inputs); err != nil {
		s.mu.Lock()
		delete(s.open, m)
		s.mu.Unlock()
		return nil, errors.Join(err, one.Close())
	}
	one.inputs = inputs
	return one, nil
}

// errDeadly is of a job that ended every member that took it.
var errDeadly = errors.New("each time its worker ended")

// do has a member do something. One whose device cannot go on leaves, and another member
// does it.
func (s *joinedSession) do(ctx context.Context, work func(device.Session) (trial.Outcome, error)) (o trial.Outcome, err error) {
	for range Deliveries {
		m, err := s.pool.take(ctx, s.only)
		if err != nil {
			return o, err
		}
		one, err := s.on(ctx, m)
		if err != nil {
			s.pool.release(m)
			return o, fmt.Errorf("worker %s: %w", m.Name, err)
		}
		if o, err = work(one); err == nil || ctx.Err() != nil {
			s.pool.release(m)
			_, timed := m.fitness.State()
			o.Worker, o.ControlMS = m.Name, timed.LastMS
			return o, err
		}
		s.pool.leave(m, err)
	}
	return o, errDeadly
}

func (s *joinedSession) Ceilings() device.Ceilings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.ceilings
}

func (s *joinedSession) Evaluate(ctx context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	return crashed(s.do(ctx, func(one device.Session) (trial.Outcome, error) { return one.Evaluate(ctx, v, best) }))
}

func (s *joinedSession) Check(ctx context.Context, v device.Variant, c device.Check) (o trial.Outcome, launches int, err error) {
	o, err = crashed(s.do(ctx, func(one device.Session) (o trial.Outcome, err error) {
		o, launches, err = one.Check(ctx, v, c)
		return o, err
	}))
	return o, launches, err
}

// crashed is the outcome of a variant that ended every member that took it.
func crashed(o trial.Outcome, err error) (trial.Outcome, error) {
	if errors.Is(err, errDeadly) {
		return trial.Outcome{Status: trial.Crashed, Message: HandedOut(Deliveries)}, nil
	}
	return o, err
}

// HandedOut says of a job that it ended all workers that took it.
func HandedOut(times uint64) string {
	return fmt.Sprintf("it was handed out %d times, and each time its worker ended or was not heard of any more", times)
}

// Refill has what follows done on other inputs. One member draws them now, the others when
// they get their next job.
func (s *joinedSession) Refill(ctx context.Context, in device.Inputs) error {
	s.mu.Lock()
	s.inputs = in
	s.mu.Unlock()
	m, err := s.pool.take(ctx, s.only)
	if err != nil {
		return err
	}
	defer s.pool.release(m)
	_, err = s.on(ctx, m)
	return err
}

// Close closes the problem wherever it is open.
func (s *joinedSession) Close() error {
	var all []error
	for m, one := range s.open {
		taken, err := s.pool.take(context.Background(), m.Name)
		all = append(all, one.Close())
		if err == nil {
			s.pool.release(taken)
		}
	}
	s.open = nil
	return errors.Join(all...)
}
