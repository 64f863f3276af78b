package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
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

// Joined is several devices of this process as one: a Pool without a server. Each member
// does one thing at a time. A member whose device cannot go on leaves, and another does
// its job.
type Joined struct {
	*Pool
	members map[string]*member
	stop    context.CancelFunc
	timing  sync.WaitGroup

	mu    sync.Mutex
	known int // problems
}

// member is a device of a Joined, for whoever has taken it.
type member struct {
	Member
	fitness *Fitness
	host    Host
}

// Join makes one device of several, whose controls it times first. The devices stay the
// caller's to close.
func Join(ctx context.Context, members []Member, o JoinOptions) (_ *Joined, err error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	p := &Joined{members: map[string]*member{}}
	p.Pool = &Pool{Crew: p, Roster: &Roster{Say: o.Say}, Share: 1, Patience: cmp.Or(o.Patience, UsualPatience)}
	timing, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	errs := make([]error, len(members))
	var group sync.WaitGroup
	for i, m := range members {
		group.Go(func() {
			f, err := OpenFitness(ctx, m.Device, o.ControlEvery)
			if err != nil {
				errs[i] = fmt.Errorf("worker %s: %w", m.Name, err)
				return
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.members[m.Name] = &member{Member: m, fitness: f, host: Host{Device: m.Device}}
			p.Roster.Meet(BeatOf(m.Name, m.Device, f))
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p.Roster.Choose()
	if len(p.Workers()) == 0 {
		return nil, p.Roster.None()
	}
	for _, m := range p.members {
		p.timing.Go(func() { p.timeControl(timing, m) })
	}
	return p, nil
}

// timeControl times a member's control every now and then.
func (p *Joined) timeControl(ctx context.Context, m *member) {
	for Pause(ctx, m.fitness.Next()) {
		c, err := p.take(ctx, m.Name, onDevice)
		if err != nil {
			return // it is gone, or all is
		}
		_, err = m.fitness.Time(ctx, p.others(m))
		if err != nil && ctx.Err() == nil {
			p.leave(m, fmt.Errorf("the control: %w", err))
		} else {
			p.Roster.Meet(BeatOf(m.Name, m.Device, m.fitness))
		}
		p.release(c, true)
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

// leave takes a member out whose device cannot go on.
func (p *Joined) leave(m *member, why error) {
	b := BeatOf(m.Name, m.Device, m.fitness)
	b.State, b.Why = Left, why.Error()
	p.Roster.Meet(b)
}

// Compiler compiles for all members.
func (p *Joined) Compiler() compile.Compiler {
	return p.members[p.Roster.Model().Worker].Device.Compiler()
}

// Announce gives a problem a key. Its jobs have all that a member needs.
func (p *Joined) Announce(*operator.Problem, device.Protocol) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known++
	return strconv.Itoa(p.known), nil
}

// Answer has a member do a job. One whose device cannot go on leaves.
func (p *Joined) Answer(ctx context.Context, name string, j Job) (Response, error) {
	m := p.members[name]
	r, err := m.host.Do(ctx, j)
	if err != nil && ctx.Err() == nil {
		p.leave(m, err)
	}
	_, timed := m.fitness.State()
	r.Worker, r.ControlMS = name, timed.LastMS
	return r, err
}

// Close stops what the pool does with its members.
func (p *Joined) Close() error {
	p.stop()
	p.timing.Wait()
	var all []error
	for _, m := range p.members {
		all = append(all, m.host.Close(), m.fitness.Close())
	}
	return errors.Join(all...)
}

// Pause waits, and tells whether ctx goes on.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
