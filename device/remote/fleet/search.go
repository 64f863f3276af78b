package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote"
	"autotune/internal/lists"
	"autotune/operator"
)

// Options adjust a pool. The zero value of Options uses all workers whose device matches the first worker's.
type Options struct {
	remote.PoolOptions
	GPU  string        // part of the name of the workers' devices; "" means the first worker's model
	Wait time.Duration // for the first worker; 0 means 20 s
}

const usualWait = 20 * time.Second

// Pool is one device made of all workers at a server that have the same model of device.
type Pool struct {
	*remote.Pool
	broker   *Broker
	search   string
	count    atomic.Int64 // number of keys made for problems and requests
	stop     context.CancelFunc
	watching sync.WaitGroup
	met      map[string]*far // by name; used by Open, then by watch
}

// Open finds the workers, after a short wait for the first worker if none is there yet. The returned pool owns the
// broker and closes it.
func Open(ctx context.Context, b *Broker, o Options) (*Pool, error) {
	o.Connection, o.Compile = b.connection, true
	p := &Pool{broker: b, search: rand.Text(), met: map[string]*far{}}
	all, model, err := p.first(ctx, o)
	if err != nil {
		return nil, err
	}
	p.Pool = remote.NewPool(p.far(model), o.PoolOptions)
	for _, one := range all {
		p.meet(one)
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	p.watching.Go(func() { p.watch(watching) })
	return p, nil
}

// first waits until a worker's device matches o.GPU, and returns all workers and, as the model, the first matching
// worker by name.
func (p *Pool) first(ctx context.Context, o Options) (all []remote.Worker, model remote.Worker, err error) {
	for begin := time.Now(); ; remote.Pause(ctx, lookEvery) {
		if all, err = p.broker.Look(ctx); err != nil {
			return nil, model, err
		}
		for _, one := range all {
			if strings.Contains(strings.ToLower(one.Device.Name), strings.ToLower(o.GPU)) {
				return all, one, nil
			}
		}
		if time.Since(begin) > cmp.Or(o.Wait, usualWait) {
			return nil, model, noneOf(all, o.GPU)
		}
	}
}

const lookEvery = 50 * time.Millisecond

func noneOf(all []remote.Worker, gpu string) error {
	if len(all) == 0 {
		return fmt.Errorf("there is no worker at the server; start one with `autotune worker --nats URL`: %w", device.ErrNone)
	}
	others := lists.Of(all, func(one remote.Worker) string { return one.Worker + " has " + one.Device.Name })
	return fmt.Errorf("no worker with %q can be used: %s: %w", gpu, few(others), device.ErrNone)
}

const mostNamed = 8

func few(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		names = append(slices.Clone(names[:mostNamed]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// Summary names the model of the devices and the workers that have it.
func (p *Pool) Summary() string { return "workers with " + p.Info().Name + ": " + few(p.Workers()) }

// watch asks which workers are there, at intervals of Beat, until ctx ends.
func (p *Pool) watch(ctx context.Context) {
	for remote.Pause(ctx, p.broker.Beat) {
		if up, _ := p.broker.connection(); up {
			all, _ := p.broker.Look(ctx) // an error means a lost connection, which the loop notices next
			for _, one := range all {
				p.meet(one)
			}
		}
	}
}

// meet adds a worker to the pool if the worker is new, has come back, or has been restarted.
func (p *Pool) meet(one remote.Worker) {
	f := p.met[one.Worker]
	if f == nil || f.gone() != nil || !f.about.Started.Equal(one.Started) {
		f = p.far(one)
		p.met[one.Worker] = f
		p.Join(remote.Member{Name: one.Worker, Device: f, Compilers: one.Compilers, Gone: f.gone})
	}
	f.seen.Store(time.Now().UnixNano())
}

// Close ends the pool. The workers themselves go on and serve other searches.
func (p *Pool) Close() error {
	p.stop()
	p.watching.Wait()
	if up, _ := p.broker.connection(); up {
		_ = p.broker.Conn.FlushTimeout(enterWait) // if the message is lost, workers close problems after idleLimit
	}
	p.broker.Close()
	return nil
}

func (p *Pool) key() string { return fmt.Sprintf("%s.%d", p.search, p.count.Add(1)) }

// far is the search's view of a worker: a device that has its own compiler.
type far struct {
	pool  *Pool
	about remote.Worker
	seen  atomic.Int64 // when the worker last answered, in nanoseconds

	mu    sync.Mutex
	known map[*operator.Problem]*remote.Session // problems that it compiles for
	lost  error                                 // why it counts as gone
}

func (p *Pool) far(one remote.Worker) *far {
	f := &far{pool: p, about: one, known: map[*operator.Problem]*remote.Session{}}
	f.seen.Store(time.Now().UnixNano())
	return f
}

// gone returns why the worker counts as gone for good, or nil while it is there.
func (f *far) gone() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.pool.broker
	up, lost := b.connection()
	last := time.Unix(0, max(f.seen.Load(), b.back.Load())) // after a reconnection the waiting time starts again
	if lost == nil && up && time.Since(last) > b.Gone {
		lost = fmt.Errorf("it has not been heard of for %s", b.Gone)
	}
	f.lost = cmp.Or(f.lost, lost)
	return f.lost
}

func (f *far) Info() device.Info          { return f.about.Device }
func (f *far) Arch() string               { return f.about.Arch }
func (f *far) Compiler() compile.Compiler { return f }
func (f *far) Version() string            { return f.about.Device.Compiler }
func (f *far) Workers() int               { return f.about.Compilers }
func (f *far) Close() error               { return nil }

func (f *far) Open(
	ctx context.Context, p *operator.Problem, _ *compile.Binary, proto device.Protocol,
) (device.Session, error) {
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
	return remote.NewSession(f, f.pool.key(), p, nil, proto)
}

// Compile makes the worker generate and compile the kernel. The returned binary contains no code, because the code
// stays at the worker.
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

// Call repeats the request until the worker has answered or is gone.
func (f *far) Call(ctx context.Context, q remote.Query) (none remote.Response, err error) {
	b, r := f.pool.broker, q.Request
	r.ID = f.pool.key()
	data, err := remote.Encode(r)
	if most := b.Conn.MaxPayload(); err == nil && int64(len(data)) > most {
		err = fmt.Errorf("the operator's files make a message of %d bytes, and %s takes %d: raise its max_payload",
			len(data), b.server, most)
	}
	if err != nil {
		return none, err
	}
	subject := WorkerSubject(f.about.Worker)
	for had := false; ; {
		up, _ := b.connection() // without a connection, a request would wait for the reconnection
		if r.Kind == remote.Close {
			if up {
				err = b.Conn.Publish(subject, data) // no answer is needed
			}
			return remote.Response{Kind: r.Kind}, err
		}
		if up {
			msg, err := b.ask(ctx, subject, data, b.Gone/4)
			if err == nil {
				return f.read(msg.Data, r)
			}
			had = had || !errors.Is(err, nats.ErrNoResponders) // the worker may have begun the job
		}
		switch why := f.gone(); {
		case why != nil && had:
			return none, fmt.Errorf("%w: %w", why, device.ErrGone)
		case why != nil:
			return none, fmt.Errorf("%w: %w: %w", why, remote.ErrNotBegun, device.ErrGone)
		case !remote.Pause(ctx, lookEvery):
			return none, ctx.Err()
		}
	}
}

// read decodes an answer, which must belong to the request.
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
