package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
)

// Crew are the workers of a Pool, however they are reached.
type Crew interface {
	Compiler() compile.Compiler
	// Announce makes a problem known, and gives the key that requests name it by.
	Announce(p *operator.Problem, proto device.Protocol) (key string, err error)
	// Answer has a worker answer a request. An error is the worker's: another does the job.
	Answer(ctx context.Context, worker string, j Job) (Response, error)
}

// A worker's error may say whether the job was begun. If it says neither, the worker has most
// likely begun the job that it had for longest.
var (
	ErrGivenBack = errors.New("the worker has given the job back") // it had not begun
	ErrBegun     = errors.New("it was at this job")
)

// UsualPatience is how long a search waits for a worker when there is none.
const UsualPatience = 20 * time.Second

// Pool is many workers as one device. It implements device.Pool. A worker has as many jobs
// as it can do and the next. A job whose worker ends goes to another.
type Pool struct {
	Crew     Crew
	Roster   *Roster
	Share    int           // jobs that a worker's device has at once
	Patience time.Duration // how long to wait for another worker when none takes jobs

	mu      sync.Mutex
	loads   map[string]*load
	changed chan struct{} // closed when a worker has room again, and then another
}

// load is what a worker has to do for this pool.
type load struct {
	jobs   map[lane][]*claim // in the order in which they came
	wanted int               // how many jobs need just this worker
}

type lane int

const (
	onDevice lane = iota
	onCompilers
)

type claim struct {
	worker string
	lane   lane
	begun  bool // the worker is at it, as far as this side can tell
}

const lookEvery = 500 * time.Millisecond

// take waits until a worker has room; if only names one, until that one has.
func (p *Pool) take(ctx context.Context, only string, l lane) (*claim, error) {
	there := p.Roster.Watch(only, p.Patience)
	p.want(only, 1)
	defer p.want(only, -1)
	for ctx.Err() == nil {
		if err := there(); err != nil {
			return nil, err
		}
		c, changed := p.tryTake(only, l)
		if c != nil {
			return c, nil
		}
		select {
		case <-changed:
		case <-time.After(lookEvery):
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

// tryTake takes the worker that has least to do, or says what to wait for.
func (p *Pool) tryTake(only string, l lane) (*claim, <-chan struct{}) {
	names := []string{only}
	if only == "" {
		names = p.Roster.Names()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var least *load
	c, compilers := &claim{lane: l}, p.Roster.Compilers()
	for _, name := range names {
		one, most := p.load(name), p.Share
		if l == onCompilers {
			most = compilers[name]
		}
		if has := len(one.jobs[l]); has < most && (only != "" || one.wanted == 0) && (least == nil || has < len(least.jobs[l])) {
			least, c.worker = one, name
		}
	}
	if least == nil {
		return nil, p.changed
	}
	c.begun = l == onCompilers || len(least.jobs[l]) == 0
	least.jobs[l] = append(least.jobs[l], c)
	return c, nil
}

// load is what a worker has to do. The lock is held.
func (p *Pool) load(name string) *load {
	if p.loads == nil {
		p.loads, p.changed = map[string]*load{}, make(chan struct{})
	}
	if p.loads[name] == nil {
		p.loads[name] = &load{jobs: map[lane][]*claim{}}
	}
	return p.loads[name]
}

// want notes that a job needs just this worker, or needs it no longer.
func (p *Pool) want(only string, by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load(only).wanted += by
	p.wake()
}

// release gives a worker back, whether it has answered or not. If it has, it begins its next job.
func (p *Pool) release(c *claim, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.load(c.worker)
	one.jobs[c.lane] = slices.DeleteFunc(one.jobs[c.lane], func(other *claim) bool { return other == c })
	if left := one.jobs[c.lane]; answered && len(left) > 0 {
		left[0].begun = true
	}
	p.wake()
}

// wake makes all that wait look again. The lock is held.
func (p *Pool) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// deliveries is how often a job is begun at most. A job that outlived so many workers
// has crashed them.
const deliveries = 2

// ErrDeadly is of a job that ended every worker that began it.
var ErrDeadly = fmt.Errorf("it was handed out %d times, and each time its worker ended or was not heard of any more", deliveries)

// Do has a worker do a job: any, or only that one. Where a worker ends, another does it.
func (p *Pool) Do(ctx context.Context, only string, j Job) (r Response, err error) {
	l := onDevice
	if j.Kind == Compile {
		l = onCompilers
	}
	for ended := 0; ended < deliveries; {
		c, err := p.take(ctx, only, l)
		if err != nil {
			return r, err
		}
		r, err = p.Crew.Answer(ctx, c.worker, j)
		p.release(c, err == nil)
		if ctx.Err() != nil && (err != nil || r.Fault != nil) {
			return r, ctx.Err()
		}
		if err == nil {
			return r, p.fault(r, c.worker, j)
		}
		if errors.Is(err, ErrBegun) || c.begun && !errors.Is(err, ErrGivenBack) {
			ended++
		}
	}
	return r, ErrDeadly
}

// fault makes of a response's fault an error for which callers of a device test.
func (p *Pool) fault(r Response, worker string, j Job) error {
	if r.Fault == nil {
		return nil
	}
	err := r.Fault.Err(j.Problem.Operator.Name, j.Kernel.File)
	if r.Fault.Kind == NoMemory || r.Fault.Kind == Trouble {
		err = fmt.Errorf("worker %s: %w", worker, err)
	}
	return err
}

// Info describes the workers' model.
func (p *Pool) Info() device.Info { return p.Roster.Model().Device }

func (p *Pool) Arch() string { return p.Roster.Model().Arch }

func (p *Pool) Compiler() compile.Compiler { return p.Crew.Compiler() }

func (p *Pool) Workers() []string { return p.Roster.Names() }

func (p *Pool) Worker(name string) device.Device { return one{p, name} }

// Open prepares a problem on whichever worker comes first. The others open it when they
// get their first job of it.
func (p *Pool) Open(ctx context.Context, problem *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	return p.open(ctx, "", problem, reference, proto)
}

func (p *Pool) Close() error { return nil }

// one is a worker of a pool alone: a device like any other, and no pool.
type one struct {
	pool *Pool
	name string
}

func (o one) Info() device.Info          { return o.pool.Info() }
func (o one) Arch() string               { return o.pool.Arch() }
func (o one) Compiler() compile.Compiler { return part{o.pool.Compiler(), len(o.pool.Workers())} }

func (o one) Open(ctx context.Context, p *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	return o.pool.open(ctx, o.name, p, reference, proto)
}

func (o one) Close() error { return nil }

// part is one worker's part of a compiler that another closes.
type part struct {
	compile.Compiler
	workers int
}

func (c part) Workers() int { return max(1, c.Compiler.Workers()/max(1, c.workers)) }

func (c part) Close() error { return nil }

// poolSession is a problem on the workers of a pool, or on one of them.
type poolSession struct {
	pool *Pool
	only string // the worker; "": any
	Job         // what all jobs have: the problem and how it is opened

	mu       sync.Mutex
	inputs   device.Inputs
	ceilings *device.Ceilings // those of the worker that opened the problem first
}

func (p *Pool) open(ctx context.Context, only string, problem *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	key, err := p.Crew.Announce(problem, proto)
	if err != nil {
		return nil, err
	}
	s := &poolSession{pool: p, only: only, inputs: proto.Inputs(), Job: Job{
		Request: Request{Problem: key, Only: only != ""}, Problem: problem, Protocol: proto,
		Prepare: func(context.Context) (*compile.Binary, func(), error) { return reference, func() {}, nil },
	}}
	r, err := s.ask(ctx, Open, nil)
	s.ceilings = &r.Ceilings
	return s, err
}

// ask has a worker do a job, on the inputs of the moment.
func (s *poolSession) ask(ctx context.Context, k Kind, v *device.Variant, change ...func(*Request)) (Response, error) {
	s.mu.Lock()
	j := s.Job
	j.Kind, j.Inputs, j.Known = k, s.inputs, s.ceilings
	s.mu.Unlock()
	if v != nil {
		j.Kernel, j.Binary = v.Kernel, v.Binary
		j.Configuration, j.Digest, j.Energy, j.Look = v.Configuration, v.Kernel.Digest(), v.Energy, v.Look
	}
	for _, c := range change {
		c(&j.Request)
	}
	return s.pool.Do(ctx, s.only, j)
}

// outcome is that of a variant, with the worker that evaluated it. A kernel that a worker cannot
// compile anew, or that ended every worker that began it, is the variant's fault.
func outcome(r Response, err error) (trial.Outcome, error) {
	var refused *compile.Error
	switch {
	case errors.As(err, &refused):
		return trial.Outcome{Status: trial.CompileError, Message: refused.Text(), Worker: r.Worker}, nil
	case errors.Is(err, ErrDeadly):
		return trial.Outcome{Status: trial.Crashed, Message: err.Error()}, nil
	}
	o := r.Outcome
	o.Notice, o.Worker, o.ControlMS = r.Notice, r.Worker, r.ControlMS
	return o, err
}

func (s *poolSession) Ceilings() device.Ceilings { return *s.ceilings }

func (s *poolSession) Evaluate(ctx context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	return outcome(s.ask(ctx, Evaluate, &v, func(q *Request) { q.Best = best }))
}

func (s *poolSession) Check(ctx context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	r, err := s.ask(ctx, Check, &v, func(q *Request) { q.Check = c })
	o, err := outcome(r, err)
	return o, r.Launches, err
}

// Refill changes the inputs of later jobs. One worker draws them now, the others when they get
// their next job.
func (s *poolSession) Refill(ctx context.Context, in device.Inputs) error {
	s.mu.Lock()
	s.inputs = in
	s.mu.Unlock()
	_, err := s.ask(ctx, Refill, nil)
	return err
}

// Close closes the problem wherever it may be open.
func (s *poolSession) Close() error {
	names := []string{s.only}
	if s.only == "" {
		names = s.pool.Workers()
	}
	limited, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	var all []error
	for _, name := range names {
		j := s.Job
		j.Kind, j.Inputs = Close, s.inputs
		if _, err := s.pool.Do(limited, name, j); !errors.Is(err, device.ErrGone) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
