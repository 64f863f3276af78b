package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"autotune/device"
	"autotune/device/compile"
)

// Member is a worker of a Pool: a device that is driven by itself.
type Member struct {
	Name   string
	Device device.Device
	// Compilers is how many kernels it is good for at once, if it compiles for itself; 0: the pool's process compiles.
	Compilers int
}

// PoolOptions adjust a Pool; the zero value is right for devices of this process.
type PoolOptions struct {
	Patience time.Duration // how long to wait for another member when there is none; 0: 20 s
	Up       func() bool   // tells whether the members can be asked at the moment; nil: always
	// Say is called with what a person should know, from any goroutine; nil: nobody is told.
	Say func(text string)
}

const usualPatience = 20 * time.Second

// Pool is several devices of one model as one: those of this machine, or workers elsewhere. It implements device.Pool.
// A member does one job at a time. One that cannot go on leaves, and another does its job.
type Pool struct {
	options PoolOptions
	model   Member

	mu      sync.Mutex
	members map[string]*member
	over    error             // why there will be no member any more
	changed chan struct{}     // closed when a member has room again, and then another
	built   map[string]string // which member has a kernel compiled, by digests
}

type member struct {
	Member
	busy      bool
	wanted    int   // how many jobs need just this member
	compiling int   // kernels
	left      error // why it has ended
}

// NewPool is a pool without members, for devices that are like the model's.
func NewPool(model Member, o PoolOptions) *Pool {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.Up == nil {
		o.Up = func() bool { return true }
	}
	o.Patience = cmp.Or(o.Patience, usualPatience)
	return &Pool{options: o, model: model, members: map[string]*member{}, changed: make(chan struct{}), built: map[string]string{}}
}

// Join takes a device into the pool, unless it is unlike the others. The device stays the caller's to close.
func (p *Pool) Join(one Member) {
	if why := unlike(one.Device, p.model.Device); why != "" {
		p.options.Say(fmt.Sprintf("worker %s is left out: %s", one.Name, why))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members[one.Name] = &member{Member: one}
	p.wake()
}

// unlike says why the numbers of two devices cannot be compared; "": they can.
func unlike(d, model device.Device) string {
	own, want := d.Info(), model.Info()
	for _, one := range []struct{ what, own, want string }{
		{"it is", own.Name, want.Name}, {"its driver is", own.Driver, want.Driver},
		{"its compiler is", own.Compiler, want.Compiler}, {"it compiles for", d.Arch(), model.Arch()},
	} {
		if one.own != one.want {
			return fmt.Sprintf("%s %s, and not %s", one.what, one.own, one.want)
		}
	}
	own.Limits.MemoryBytes = want.Limits.MemoryBytes // differs a little from one GPU of a model to the next
	if own.Limits != want.Limits {
		return "its GPU has other limits"
	}
	return ""
}

// Leave ends a member's part in the pool.
func (p *Pool) Leave(name string, why error) {
	p.mu.Lock()
	m := p.members[name]
	p.mu.Unlock()
	if m != nil {
		p.leave(m, why)
	}
}

func (p *Pool) leave(m *member, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.left != nil {
		return
	}
	m.left = why
	p.wake()
	p.options.Say(fmt.Sprintf("worker %s has ended: %s", m.Name, why))
}

// End ends all jobs: no member will ever do them.
func (p *Pool) End(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = why
	p.wake()
}

// ready are the members that take jobs, in order. The lock is held.
func (p *Pool) ready() (all []*member) {
	for _, name := range slices.Sorted(maps.Keys(p.members)) {
		if m := p.members[name]; m.left == nil {
			all = append(all, m)
		}
	}
	return all
}

// want is which member a job needs.
type want struct {
	only     string // that one alone; "": any
	kernel   string // the digest of what is compiled, by a member, or was
	compiles bool
}

const lookEvery = 500 * time.Millisecond

// take waits until a member has room for a job.
func (p *Pool) take(ctx context.Context, w want) (*member, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.members[w.only]; m != nil && !w.compiles {
		m.wanted++
		defer func() { m.wanted-- }()
	}
	var nobody time.Time // since when no member takes jobs
	for ctx.Err() == nil {
		m, err := p.choose(w, &nobody)
		if m != nil || err != nil {
			return m, err
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(lookEvery):
		case <-ctx.Done():
		}
		p.mu.Lock()
	}
	return nil, ctx.Err()
}

// choose takes a member with room, if there is one. An error means that there never will be. The lock is held.
func (p *Pool) choose(w want, nobody *time.Time) (*member, error) {
	if p.over != nil {
		return nil, fmt.Errorf("%w: %w", p.over, device.ErrGone)
	}
	all := p.ready()
	switch one := p.members[w.only]; {
	case w.only != "" && (one == nil || one.left != nil):
		return nil, fmt.Errorf("worker %s%s: %w", w.only, p.lastWords(), device.ErrGone)
	case w.only != "":
		all = []*member{one}
	case !p.options.Up():
		*nobody = time.Time{}
		return nil, nil
	case len(all) > 0:
		*nobody = time.Time{}
	case nobody.IsZero():
		*nobody = time.Now()
	case time.Since(*nobody) > p.options.Patience:
		return nil, fmt.Errorf("no worker has been there for %s%s: %w", p.options.Patience, p.lastWords(), device.ErrGone)
	}
	if at := slices.IndexFunc(all, func(m *member) bool { return m.Name == p.built[w.kernel] }); at >= 0 && !w.compiles {
		all = all[at : at+1]
	}
	var least *member
	for _, m := range all {
		if m.has(w) && (least == nil || m.load() < least.load()) {
			least = m
		}
	}
	if least == nil {
		return nil, nil
	}
	if w.compiles {
		least.compiling++
	} else {
		least.busy = true
	}
	return least, nil
}

// has tells whether a member has room for a job.
func (m *member) has(w want) bool {
	if w.compiles {
		return m.compiling < max(1, m.Compilers)
	}
	return !m.busy && (w.only != "" || m.wanted == 0)
}

func (m *member) load() int {
	load := m.compiling + m.wanted
	if m.busy {
		load++
	}
	return load
}

// release gives a member back.
func (p *Pool) release(m *member, w want) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.compiles {
		m.compiling--
	} else {
		m.busy = false
	}
	p.wake()
}

// wake makes all that wait look again. The lock is held.
func (p *Pool) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// lastWords is why the first member by name has left. The lock is held.
func (p *Pool) lastWords() string {
	for _, name := range slices.Sorted(maps.Keys(p.members)) {
		if m := p.members[name]; m.left != nil {
			return fmt.Sprintf("; worker %s: %s", name, m.left)
		}
	}
	return ""
}

// deliveries is how often a job is begun at most. A job that outlived so many workers
// has crashed them.
const deliveries = 2

// errDeadly is of a job that ended every worker that began it.
var errDeadly = fmt.Errorf("it was handed out %d times, and each time its worker ended or was not heard of any more", deliveries)

// do has a member do a job. Where the member cannot go on, another does it.
func (p *Pool) do(ctx context.Context, w want, job func(*member) error) error {
	for ended := 0; ended < deliveries; {
		m, err := p.take(ctx, w)
		if err != nil {
			return err
		}
		err = job(m)
		p.release(m, w)
		if err == nil || ctx.Err() != nil || !endsMember(err) {
			return err
		}
		p.leave(m, err)
		if !errors.Is(err, ErrNotBegun) {
			ended++
		}
	}
	return errDeadly
}

// endsMember tells whether an error is the device's: it is not about the operator, nor about a kernel.
func endsMember(err error) bool {
	var reference *device.ReferenceError
	var refused *compile.Error
	return !errors.As(err, &reference) && !errors.As(err, &refused)
}

// Info describes the model.
func (p *Pool) Info() device.Info { return p.model.Device.Info() }

func (p *Pool) Arch() string { return p.model.Device.Arch() }

func (p *Pool) Compiler() compile.Compiler {
	if p.model.Compilers > 0 {
		return poolCompiler{p, ""}
	}
	return p.model.Device.Compiler()
}

func (p *Pool) Workers() (names []string) {
	if !p.options.Up() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.ready() {
		names = append(names, m.Name)
	}
	return names[:min(len(names), device.MostWorkers)]
}

func (p *Pool) Worker(name string) device.Device { return one{p, name} }

// Close leaves the devices to the caller.
func (p *Pool) Close() error { return nil }
