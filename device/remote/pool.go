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

// Member is a worker of a Pool.
type Member struct {
	Name      string
	Device    device.Device
	Compilers int          // how many kernels it compiles at once, if it compiles for itself
	Gone      func() error // says why it is there no more; nil: nobody knows before it is asked
}

// PoolOptions adjust a Pool; the zero value is right for devices of this process.
type PoolOptions struct {
	Compile  bool          // members compile for themselves; else one compiler, the model's, does for all
	Patience time.Duration // how long to wait for another member when there is none; 0: 20 s
	// Connection tells whether members can be asked at the moment, and why they never will be again; nil: they can.
	Connection func() (up bool, lost error)
	// Say is called with what a person should know, from any goroutine; nil: nobody is told.
	Say func(text string)
}

const usualPatience = 20 * time.Second

// Pool is several devices of one model as one: those of this machine, or workers elsewhere. It implements device.Pool.
// A member does one job at a time. One that cannot go on leaves, and another does its job.
type Pool struct {
	options PoolOptions
	model   device.Device

	mu      sync.Mutex
	members map[string]*member
	changed chan struct{}     // closed when a member has room again, and then another
	built   map[string]string // which member has a kernel compiled, by digests
}

type member struct {
	Member
	busy    bool
	waiting int   // jobs that wait for just this member
	kernels int   // that it compiles at the moment
	left    error // why it has ended
}

// NewPool is a pool without members, for devices that are like the model's.
func NewPool(model device.Device, o PoolOptions) *Pool {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.Connection == nil {
		o.Connection = func() (bool, error) { return true, nil }
	}
	o.Patience = cmp.Or(o.Patience, usualPatience)
	return &Pool{
		options: o, model: model, members: map[string]*member{}, built: map[string]string{}, changed: make(chan struct{}),
	}
}

// Join takes a device into the pool, unless it is unlike the others. The device stays the caller's to close.
func (p *Pool) Join(one Member) {
	if why := unlike(one.Device, p.model); why != "" {
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
	about := func(d device.Device) string {
		i := d.Info()
		return fmt.Sprintf("%s, driver %s, compiler %s, for %s, %d multiprocessors",
			i.Name, i.Driver, i.Compiler, d.Arch(), i.Limits.SMs)
	}
	if own, want := about(d), about(model); own != want {
		return "it is " + own + ", and not " + want
	}
	return ""
}

// leave ends a member's part in the pool. The lock is held.
func (p *Pool) leave(m *member, why error) {
	if m.left == nil {
		m.left = why
		p.wake()
		p.options.Say(fmt.Sprintf("worker %s has ended: %s", m.Name, why))
	}
}

// ready are the members that are there, in order. The lock is held.
func (p *Pool) ready() (all []*member) {
	for _, name := range slices.Sorted(maps.Keys(p.members)) {
		m := p.members[name]
		if m.left == nil && m.Gone != nil {
			if why := m.Gone(); why != nil {
				p.leave(m, why)
			}
		}
		if m.left == nil {
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
	if m := p.members[cmp.Or(w.only, p.built[w.kernel])]; m != nil && !w.compiles {
		m.waiting++
		defer func() { m.waiting-- }()
	}
	var nobody time.Time // since when no member takes jobs
	for ctx.Err() == nil {
		if m, err := p.choose(w, &nobody); m != nil || err != nil {
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
	up, lost := p.options.Connection()
	if lost != nil {
		return nil, fmt.Errorf("%w: %w", lost, device.ErrGone)
	}
	all := p.ready()
	switch one := p.members[w.only]; {
	case w.only != "" && (one == nil || one.left != nil):
		return nil, fmt.Errorf("worker %s%s: %w", w.only, p.lastWords(), device.ErrGone)
	case w.only != "":
		all = []*member{one}
	case !up:
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
	all = slices.DeleteFunc(all, func(m *member) bool {
		return w.compiles && m.kernels >= max(1, m.Compilers) || !w.compiles && m.busy
	})
	if len(all) == 0 {
		return nil, nil
	}
	least := slices.MinFunc(all, func(a, b *member) int { return cmp.Compare(a.waiting+a.kernels, b.waiting+b.kernels) })
	if w.compiles {
		least.kernels++
	} else {
		least.busy = true
	}
	return least, nil
}

// release gives a member back, which may have ended.
func (p *Pool) release(m *member, w want, ended bool, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ended {
		p.leave(m, why)
	}
	if w.compiles {
		m.kernels--
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
var errDeadly = fmt.Errorf("it was handed out %d times, and each time its worker ended or was not heard of", deliveries)

// do has a member do a job. Where the member cannot go on, another does it.
func (p *Pool) do(ctx context.Context, w want, job func(*member) error) error {
	for ended := 0; ended < deliveries; {
		m, err := p.take(ctx, w)
		if err != nil {
			return err
		}
		err = job(m)
		ends := err != nil && ctx.Err() == nil && endsMember(err)
		p.release(m, w, ends, err)
		if !ends {
			return err
		}
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

func (p *Pool) Info() device.Info { return p.model.Info() }

func (p *Pool) Arch() string { return p.model.Arch() }

func (p *Pool) Compiler() compile.Compiler {
	if p.options.Compile {
		return poolCompiler{p, ""}
	}
	return p.model.Compiler()
}

func (p *Pool) Workers() (names []string) {
	if up, _ := p.options.Connection(); !up {
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
