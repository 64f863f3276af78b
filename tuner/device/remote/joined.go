package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
)

// Member is a device of this process that is to be one of several.
type Member struct {
	Name   string
	Device device.Device
}

// JoinOptions adjust a Joined; the zero value is right for a search.
type JoinOptions struct {
	ControlEvery time.Duration // between two of a member's control; 0: half a minute
	// Patience is how long to wait for another member when none takes jobs; 0: 20 s.
	Patience time.Duration
	// Say is called with what a person should know, from any goroutine; nil: nobody is told.
	Say func(text string)
}

// UsualPatience is how long a search waits for a worker when there is none.
const UsualPatience = 20 * time.Second

// Joined is several devices of this process as one: a device.Pool without a server. Each
// member does one thing at a time. A member whose device cannot go on leaves, and another
// does its job.
type Joined struct {
	options JoinOptions
	roster  Roster
	members map[string]*member
	first   device.Device // of the model
	stop    context.CancelFunc
	timing  sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed when a member becomes free or changes its state, and then another
}

// member is a device of a Joined. Fields below free are for whoever has taken the
// member.
type member struct {
	Member
	fitness *Fitness
	free    bool
	wanted  int // by how many that can do with no other
}

// Join makes one device of several, whose controls it times first. The devices stay the
// caller's to close.
func Join(ctx context.Context, members []Member, o JoinOptions) (_ *Joined, err error) {
	o.Patience = cmp.Or(o.Patience, UsualPatience)
	if o.Say == nil {
		o.Say = func(string) {}
	}
	p := &Joined{options: o, roster: Roster{Say: o.Say}, members: map[string]*member{}, changed: make(chan struct{})}
	timing, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	all, errs := make([]*member, len(members)), make([]error, len(members))
	var group sync.WaitGroup
	for i, m := range members {
		group.Go(func() {
			f, err := OpenFitness(ctx, m.Device, o.ControlEvery)
			if err != nil {
				errs[i] = fmt.Errorf("worker %s: %w", m.Name, err)
				return
			}
			all[i] = &member{Member: m, fitness: f, free: true}
		})
	}
	group.Wait()
	for _, m := range all {
		if m != nil {
			p.members[m.Name] = m
			p.roster.Meet(m.beat())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p.roster.Choose()
	if len(p.Workers()) == 0 {
		return nil, p.roster.None()
	}
	p.first = p.members[p.roster.Model().Worker].Device
	for _, m := range p.members {
		p.timing.Go(func() { p.timeControl(timing, m) })
	}
	return p, nil
}

// beat is how the member is doing.
func (m *member) beat() Beat {
	b := BeatOf(m.Name, m.Device)
	var aside string
	if aside, b.Control = m.fitness.State(); aside != "" {
		b.State, b.Why = Aside, aside
	}
	return b
}

// timeControl times a member's control every now and then.
func (p *Joined) timeControl(ctx context.Context, m *member) {
	for {
		select {
		case <-time.After(m.fitness.Next()):
		case <-ctx.Done():
			return
		}
		if _, err := p.take(ctx, m.Name); err != nil {
			return // it is gone, or all is
		}
		_, err := m.fitness.Time(ctx, p.others(m))
		if err != nil && ctx.Err() == nil {
			p.leave(m, fmt.Errorf("the control: %w", err))
			return
		}
		p.roster.Meet(m.beat())
		p.release(m)
	}
}

// others are the controls of the other members that take jobs.
func (p *Joined) others(m *member) (all []float64) {
	for _, name := range p.Workers() {
		if _, timed := p.members[name].fitness.State(); name != m.Name && timed.LastMS > 0 {
			all = append(all, timed.LastMS)
		}
	}
	return all
}

// lookEvery is how often to look whether somebody is left who can do a job.
const lookEvery = 500 * time.Millisecond

// take waits until a member is free, or the only one that will do; release gives it back.
func (p *Joined) take(ctx context.Context, only string) (*member, error) {
	there := p.roster.Watch(only, p.options.Patience)
	if p.members[only] != nil {
		p.want(only, 1)
		defer p.want(only, -1)
	}
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := there(); err != nil {
			return nil, err
		}
		m, changed := p.tryTake(only)
		if m != nil {
			return m, nil
		}
		select {
		case <-changed:
		case <-time.After(lookEvery):
		case <-ctx.Done():
		}
	}
}

// tryTake takes a member that is free, or says what to wait for.
func (p *Joined) tryTake(only string) (*member, <-chan struct{}) {
	names := []string{only}
	if only == "" {
		names = p.Workers()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		if m := p.members[name]; m.free && (only != "" || m.wanted == 0) {
			m.free = false
			return m, nil
		}
	}
	return nil, p.changed
}

func (p *Joined) want(name string, by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members[name].wanted += by
	p.wake()
}

func (p *Joined) release(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.free = true
	p.wake()
}

// wake has all that wait look again.
func (p *Joined) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// leave takes a member out whose device cannot go on. It is never free again.
func (p *Joined) leave(m *member, why error) {
	b := m.beat()
	b.State, b.Why = Left, why.Error()
	p.roster.Meet(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
}

// Info describes the members' model.
func (p *Joined) Info() device.Info { return p.first.Info() }

// Arch is what their kernels are compiled for.
func (p *Joined) Arch() string { return p.first.Arch() }

// Compiler compiles for all of them.
func (p *Joined) Compiler() compile.Compiler { return p.first.Compiler() }

// Workers names those that take jobs now.
func (p *Joined) Workers() []string { return p.roster.Names() }

// Worker is one of them as a device of its own.
func (p *Joined) Worker(name string) device.Device { return Only(p, name, p.openOn) }

// Open prepares a problem on whichever member comes first. The others open it when they
// get their first job of it.
func (p *Joined) Open(ctx context.Context, problem *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	return p.openOn(ctx, "", problem, reference, proto)
}

// Close stops what the pool does with its members.
func (p *Joined) Close() error {
	p.stop()
	p.timing.Wait()
	var all []error
	for _, m := range p.members {
		all = append(all, m.fitness.Close())
	}
	return errors.Join(all...)
}

// opener opens a problem on one worker of a pool.
type opener = func(ctx context.Context, worker string, p *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error)

// one is a worker of a pool alone: a device like any other, and no pool.
type one struct {
	device.Device // the pool
	workers       func() []string
	name          string
	open          opener
}

// Only is one of a pool's workers as a device of its own.
func Only(pool device.Pool, name string, open opener) device.Device {
	return one{pool, pool.Workers, name, open}
}

func (o one) Open(ctx context.Context, p *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	return o.open(ctx, o.name, p, reference, proto)
}

// Close does nothing: the worker is the pool's.
func (o one) Close() error { return nil }

// Compiler compiles on all workers for this one.
func (o one) Compiler() compile.Compiler { return part{o.Device.Compiler(), len(o.workers())} }

// part is one worker's part of a compiler that another closes.
type part struct {
	compile.Compiler
	workers int
}

// Workers is how many compilations are worth running at once.
func (c part) Workers() int { return max(1, c.Compiler.Workers()/max(1, c.workers)) }

// Close does nothing: the compiler is the pool's.
func (c part) Close() error { return nil }
