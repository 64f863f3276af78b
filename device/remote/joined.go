package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/operator"
)

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

// Joined is several devices of this process as one: a Pool without a server. A member
// whose device cannot go on leaves, and another does its job.
type Joined struct {
	*Pool
	members map[string]*Owner
	stop    context.CancelFunc
	timing  sync.WaitGroup
	known   atomic.Int32 // problems
}

// Join makes one device of several, whose controls it times first. The devices stay the
// caller's to close.
func Join(ctx context.Context, members []Member, o JoinOptions) (*Joined, error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	p := &Joined{members: map[string]*Owner{}}
	p.Pool = &Pool{Crew: p, Roster: &Roster{Say: o.Say}, Share: 1, Patience: cmp.Or(o.Patience, UsualPatience)}
	timing, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	owners, errs := make([]*Owner, len(members)), make([]error, len(members))
	var group sync.WaitGroup
	for i, m := range members {
		group.Go(func() { owners[i], errs[i] = Own(ctx, m.Name, Host{Device: m.Device}, o) })
	}
	group.Wait()
	for _, m := range owners {
		if m != nil {
			p.members[m.Name] = m
			p.Roster.Meet(m.Beat())
		}
	}
	err := errors.Join(errs...)
	if p.Roster.Choose(); err == nil && len(p.Workers()) == 0 {
		err = p.Roster.None()
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	for _, m := range p.members {
		p.timing.Go(func() {
			if err := m.KeepFit(timing, func() []float64 { return p.others(m) }, func(string) { p.Roster.Meet(m.Beat()) }); err != nil {
				p.Roster.Meet(m.Left(err))
			}
		})
	}
	return p, nil
}

// others are the controls of the other members that take jobs.
func (p *Joined) others(m *Owner) (all []float64) {
	for _, name := range p.Workers() {
		if _, timed := p.members[name].Fitness.State(); name != m.Name && timed.LastMS > 0 {
			all = append(all, timed.LastMS)
		}
	}
	return all
}

func (p *Joined) Compiler() compile.Compiler {
	return p.members[p.Roster.Model().Worker].Device.Compiler()
}

// Announce gives a problem a key. Its jobs have all that a member needs.
func (p *Joined) Announce(*operator.Problem, device.Protocol) (string, error) {
	return fmt.Sprint(p.known.Add(1)), nil
}

// Answer has a member do a job. One whose device cannot go on leaves.
func (p *Joined) Answer(ctx context.Context, name string, j Job) (Response, error) {
	m := p.members[name]
	r, err := m.Do(ctx, j)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrGivenBack) {
		p.Roster.Meet(m.Left(err))
	}
	return r, err
}

func (p *Joined) Close() error {
	p.stop()
	p.timing.Wait()
	var all []error
	for _, m := range p.members {
		all = append(all, m.Close())
	}
	return errors.Join(all...)
}

func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
