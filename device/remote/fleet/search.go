package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote"
	"autotune/operator"
)

// Options adjust a pool; the zero value takes what is there.
type Options struct {
	remote.PoolOptions
	GPU  string        // part of the name that the workers' devices have; "": as the first worker's
	Wait time.Duration // for the first worker; 0: 20 s
}

const usualWait = 20 * time.Second

// Pool is the workers at a server that have one model of device, as one device.
type Pool struct {
	*remote.Pool
	broker   *Broker
	options  Options
	search   string
	stop     context.CancelFunc
	watching sync.WaitGroup

	mu    sync.Mutex
	count int             // of keys and requests
	hosts map[string]host // by name
}

type host struct {
	*far
	seen time.Time
}

// Open finds the workers; there must be one soon. The broker is then the pool's to close.
func Open(ctx context.Context, b *Broker, o Options) (*Pool, error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	o.Up = b.up
	p := &Pool{broker: b, options: o, search: rand.Text(), hosts: map[string]host{}}
	all, model, err := p.first(ctx)
	if err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	p.Pool = remote.NewPool(p.member(p.far(model)), o.PoolOptions)
	for _, one := range all {
		p.meet(one)
	}
	p.watching.Go(func() { p.watch(watching) })
	return p, nil
}

// first waits for the first worker that can be used, by name.
func (p *Pool) first(ctx context.Context) (all []remote.Worker, model remote.Worker, err error) {
	for begin := time.Now(); ; remote.Pause(ctx, lookEvery) {
		if all, err = p.broker.Look(ctx); err != nil {
			return nil, model, err
		}
		for _, one := range all {
			if strings.Contains(strings.ToLower(one.Device.Name), strings.ToLower(p.options.GPU)) {
				return all, one, nil
			}
		}
		if time.Since(begin) > cmp.Or(p.options.Wait, usualWait) {
			return nil, model, noneOf(all, p.options.GPU)
		}
	}
}

const lookEvery = 50 * time.Millisecond

// mostNamed is how many workers a message names.
const mostNamed = 8

func noneOf(all []remote.Worker, gpu string) error {
	if len(all) == 0 {
		return fmt.Errorf("there is no worker at the server; start one with `autotune worker --nats URL`: %w", device.ErrNone)
	}
	var others []string
	for _, one := range all[:min(len(all), mostNamed)] {
		others = append(others, one.Worker+" has "+one.Device.Name)
	}
	if len(all) > mostNamed {
		others = append(others, fmt.Sprintf("and %d more", len(all)-mostNamed))
	}
	return fmt.Errorf("no worker with %q can be used: %s: %w", gpu, strings.Join(others, "; "), device.ErrNone)
}

// Summary says which workers there are.
func (p *Pool) Summary() string {
	names := p.Workers()
	plural := "s"
	if len(names) == 1 {
		plural = ""
	}
	text := fmt.Sprintf("%d worker%s with %s: ", len(names), plural, p.Info().Name)
	if len(names) > mostNamed {
		return text + strings.Join(names[:mostNamed], ", ") + ", ..."
	}
	return text + strings.Join(names, ", ")
}

// watch asks who is there, until ctx ends or the server is gone for good.
func (p *Pool) watch(ctx context.Context) {
	b := p.broker
	for remote.Pause(ctx, b.Beat) {
		if away := b.away(); b.Limit > 0 && away > b.Limit {
			why := fmt.Errorf("%s: %w: it was not to be reached for %s", b.server, ErrServer, b.Limit)
			p.End(why)
			p.lose(why, func(host) bool { return true })
			return
		} else if away > 0 { // nobody can answer; once it is back, the workers' time begins anew
			p.forgive()
			continue
		}
		all, _ := b.Look(ctx) // it fails if the connection is lost, which is seen next
		for _, one := range all {
			p.meet(one)
		}
		p.lose(fmt.Errorf("it has not been heard of for %s", b.Gone), func(h host) bool {
			return time.Since(h.seen) > b.Gone && b.up()
		})
	}
}

func (p *Pool) forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, h := range p.hosts {
		p.hosts[name] = host{h.far, time.Now()}
	}
}

// lose has workers leave the pool.
func (p *Pool) lose(why error, gone func(host) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, h := range p.hosts {
		if gone(h) {
			delete(p.hosts, name)
			h.end(why)
			p.Leave(name, why)
		}
	}
}

// meet takes a worker into the pool that is new, or has been started again.
func (p *Pool) meet(one remote.Worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, known := p.hosts[one.Worker]
	if known && h.about.Started.Equal(one.Started) {
		p.hosts[one.Worker] = host{h.far, time.Now()}
		return
	}
	f := p.far(one)
	p.hosts[one.Worker] = host{f, time.Now()}
	p.Join(p.member(f))
}

func (p *Pool) member(f *far) remote.Member {
	return remote.Member{Name: f.about.Worker, Device: f, Compilers: f.about.Compilers}
}

// Close leaves the workers to others.
func (p *Pool) Close() error {
	p.stop()
	p.watching.Wait()
	if p.broker.up() {
		_ = p.broker.Conn.FlushTimeout(enterWait) // workers close problems in time without a word, too
	}
	p.broker.Close()
	return nil
}

// key names a problem or a request of this search.
func (p *Pool) key() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	return fmt.Sprintf("%s.%d", p.search, p.count)
}

// far is a worker as a search sees it: a device, which has a compiler of its own.
type far struct {
	pool  *Pool
	about remote.Worker
	alive context.Context // ends when the worker is taken to be gone
	end   context.CancelCauseFunc

	mu    sync.Mutex
	known map[*operator.Problem]*remote.Session // that it compiles for
}

func (p *Pool) far(one remote.Worker) *far {
	alive, end := context.WithCancelCause(context.Background())
	return &far{pool: p, about: one, alive: alive, end: end, known: map[*operator.Problem]*remote.Session{}}
}

func (f *far) Info() device.Info          { return f.about.Device }
func (f *far) Arch() string               { return f.about.Arch }
func (f *far) Compiler() compile.Compiler { return f }
func (f *far) Version() string            { return f.about.Device.Compiler }
func (f *far) Workers() int               { return f.about.Compilers }
func (f *far) Close() error               { return nil }

func (f *far) Open(ctx context.Context, p *operator.Problem, _ *compile.Binary, proto device.Protocol) (device.Session, error) {
	s, err := f.session(p, proto)
	if err == nil {
		err = s.Open(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (f *far) session(p *operator.Problem, proto device.Protocol) (*remote.Session, error) {
	if len(p.Operator.Data) > 0 {
		return nil, fmt.Errorf("%s has .npy files, which stay on this machine: search on its own devices, with --device", p.Operator.Name)
	}
	return remote.NewSession(f, f.pool.key(), p, nil, proto)
}

// Compile has the worker make the kernel and compile it. The binary has no code: it stays there.
func (f *far) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	if r.Problem == nil {
		return nil, errors.New("workers compile kernels of problems only")
	}
	s, err := f.compiling(r.Problem)
	if err != nil {
		return nil, err
	}
	return s.Compile(ctx, r)
}

func (f *far) compiling(p *operator.Problem) (s *remote.Session, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s = f.known[p]; s == nil {
		if s, err = f.session(p, device.ProtocolFor(p.Operator)); err == nil {
			f.known[p] = s
		}
	}
	return s, err
}

// Call asks the worker until it has answered, or is gone.
func (f *far) Call(ctx context.Context, q remote.Query) (none remote.Response, err error) {
	b, r := f.pool.broker, q.Request
	r.ID = f.pool.key()
	data, err := remote.Encode(r)
	if most := b.Conn.MaxPayload(); err == nil && int64(len(data)) > most {
		err = fmt.Errorf("the files of %s make a message of %d bytes, and %s takes %d: raise its max_payload", r.Problem, len(data), b.server, most)
	}
	if err != nil {
		return none, err
	}
	subject := WorkerSubject(f.about.Worker)
	if r.Kind == remote.Close { // nobody waits for it
		if !b.up() {
			return none, nil
		}
		return remote.Response{Kind: r.Kind}, b.Conn.Publish(subject, data)
	}
	for had := false; ; {
		if b.up() { // else asking would wait for as long as a connection is tried
			msg, err := b.ask(ctx, subject, data, b.Gone/4)
			if err == nil {
				return f.read(msg.Data, r)
			}
			had = had || !errors.Is(err, nats.ErrNoResponders) // perhaps
		}
		switch why := context.Cause(f.alive); {
		case why != nil && had:
			return none, fmt.Errorf("%w: %w", why, device.ErrGone)
		case why != nil:
			return none, fmt.Errorf("%w: %w: %w", why, remote.ErrNotBegun, device.ErrGone)
		case !remote.Pause(ctx, lookEvery):
			return none, ctx.Err()
		}
	}
}

// read reads an answer, which must be of the request.
func (f *far) read(data []byte, q remote.Request) (remote.Response, error) {
	r, err := remote.Decode[remote.Response](data)
	if err == nil && (r.ID != q.ID || r.Kind != q.Kind || r.Worker != f.about.Worker) {
		err = fmt.Errorf("it is %s's to a request %s to %s", r.Worker, r.ID, r.Kind)
	}
	if err != nil {
		err = fmt.Errorf("its answer makes no sense: %w: %w", err, device.ErrGone)
	}
	return r, err
}
