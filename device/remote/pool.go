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

// Member is a device that takes part in a Pool.
type Member struct {
	Name      string
	Device    device.Device
	Compilers int          // number of kernels that the member compiles at once, if it compiles itself
	Gone      func() error // says why the member is no longer there; nil if that shows only in a request
}

// PoolOptions adjust a Pool. The zero value of PoolOptions is right for devices of this process.
type PoolOptions struct {
	Compile  bool          // members compile for themselves; otherwise the model's compiler compiles for all
	Patience time.Duration // how long to wait for a member if there is none; 0 means 20 s
	// Connection reports whether members can be reached at the moment; lost is set if no member will ever be reachable
	// again. A nil Connection means that members can always be reached.
	Connection func() (up bool, lost error)
	// Say is called with news for the user, from any goroutine. If Say is nil, the pool's messages to the user are
	// dropped.
	Say func(text string)
}

const usualPatience = 20 * time.Second

// Pool makes one device of several devices of one model, on this machine or at workers elsewhere, and implements
// device.Pool. A member of the pool does one job at a time. If a member cannot go on, another member does its job.
type Pool struct {
	options PoolOptions
	model   device.Device

	mu      sync.Mutex
	members map[string]*member
	changed chan struct{}     // closed, and replaced, when a member becomes free
	built   map[string]string // the member that has compiled a kernel, by the kernel's digest
}

type member struct {
	Member
	busy    bool
	waiting int   // number of jobs that wait for this member only
	kernels int   // number of kernels that it compiles at the moment
	left    error // why it has left the pool
}

// NewPool returns an empty pool for devices of the same model as the given device.
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

// Join adds a device to the pool unless it differs from the pool's model. The caller of Join must close the device.
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

// unlike says why the measurements of two devices cannot be compared, or returns "" if they can.
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

// leave removes a member from the pool. The caller must hold the pool's lock.
func (p *Pool) leave(m *member, why error) {
	if m.left == nil {
		m.left = why
		p.wake()
		p.options.Say(fmt.Sprintf("worker %s has ended: %s", m.Name, why))
	}
}

// ready returns the members that can be reached, sorted by name. The caller must hold the pool's lock.
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

// want says which members of the pool can do a job.
type want struct {
	only     string // the only member that can do it; "" for any member
	kernel   string // the digest of the kernel that a member compiles or has compiled
	compiles bool
}

const lookEvery = 500 * time.Millisecond

// take waits until a member is free for a job, and reserves it.
func (p *Pool) take(ctx context.Context, w want) (*member, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.members[cmp.Or(w.only, p.built[w.kernel])]; m != nil && !w.compiles {
		m.waiting++
		defer func() { m.waiting-- }()
	}
	var nobody time.Time // since when no member can be reached
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

// choose reserves a free member for a job, or returns nil if none is free at the moment. choose returns an error if no
// member will ever be free. The caller must hold the pool's lock.
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

// release makes a member free again, or removes it from the pool if it has ended.
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

// wake makes all goroutines that wait for a member look again. The caller must hold the pool's lock.
func (p *Pool) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// lastWords returns why the first of the departed members, by name, has left. The caller must hold the pool's lock.
func (p *Pool) lastWords() string {
	for _, name := range slices.Sorted(maps.Keys(p.members)) {
		if m := p.members[name]; m.left != nil {
			return fmt.Sprintf("; worker %s: %s", name, m.left)
		}
	}
	return ""
}

// deliveries limits how many members may begin one job. If every member of the pool that began a job ended, the job is
// assumed to be the cause.
const deliveries = 2

// errDeadly is the error of a job that ended every member that began it.
var errDeadly = fmt.Errorf("it was handed out %d times, and each time its worker ended or was not heard of", deliveries)

// do has a member of the pool carry out a job. If the member cannot go on, do gives the job to another member.
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

// endsMember reports whether an error is the fault of the device, and of neither the operator nor a kernel.
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

// Close does nothing, because the members' devices belong to the caller.
func (p *Pool) Close() error { return nil }
