package remote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/worker"
	"autotune/operator"
)

// How long this side waits for the child before it gives it up. The child watches each
// launch itself and answers in time; these are for a child that is stuck in a driver.
const (
	openLimit   = 10 * time.Minute // a reference may be slow
	closeLimit  = 30 * time.Second
	answerSlack = 5 * time.Second
)

// ChildOptions say which device a Child is.
type ChildOptions struct {
	Worker   string // the name under which the program's main dispatches to Serve
	Ordinal  int
	CacheDir string // where answers are kept; "": nowhere
	// Compiler starts the compiler, once the device is known to be there, and Target says what
	// it compiles for.
	Compiler func(context.Context) (compile.Compiler, error)
	Target   func(version string, arch int) string
	// Ahead are kernels that the child will need. They begin to compile at once.
	Ahead []operator.Kernel
}

// Child is a device in a child process, this same executable started again: a kernel
// that faults or never ends takes the child down, and not the search. It is a
// device.Device. Its lock is held while the child works: a GPU that is measured on does one
// thing at a time.
type Child struct {
	options  ChildOptions
	compiler compile.Compiler // nil until the device is known to be there
	about    device.Info

	mu       sync.Mutex
	process  *worker.Process // nil when a new one must be started
	sessions int             // counts sessions, for their keys
	// parts compile kernels of the device's own and of operators, by digests.
	parts map[string]func() (built, error)
}

// Devices describes the devices that such a child process finds. The error wraps
// device.ErrNone when there are none.
func Devices(ctx context.Context, workerName string) ([]device.Info, error) {
	c := &Child{options: ChildOptions{Worker: workerName}}
	defer c.Close()
	return c.describe(ctx)
}

// OpenChild starts a child process and finds its device. The error wraps device.ErrNone
// when there is no such device: where it is missing, a missing compiler is not told.
func OpenChild(ctx context.Context, o ChildOptions) (*Child, error) {
	c := &Child{options: o, parts: map[string]func() (built, error){}}
	found, err := c.describe(ctx)
	if err == nil && (o.Ordinal < 0 || o.Ordinal >= len(found)) {
		err = fmt.Errorf("there is no GPU %d, this machine has %d, counted from 0: %w", o.Ordinal, len(found), device.ErrNone)
	}
	if err == nil {
		c.compiler, err = o.Compiler(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.about = found[o.Ordinal]
	c.about.Compiler = c.compiler.Version()
	c.about.Limits.Target = o.Target(c.about.Compiler, c.about.Limits.Arch)
	for _, k := range o.Ahead {
		go c.part(context.WithoutCancel(ctx), k)() // its result is asked for later; Close ends it
	}
	return c, nil
}

func (c *Child) describe(ctx context.Context) ([]device.Info, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	r, err := c.call(ctx, openLimit, Request{Kind: Describe}, question{})
	if err != nil {
		return nil, fmt.Errorf("describe the GPUs: %w", err)
	}
	if r.Fault != nil {
		return nil, r.Fault.Err("", "")
	}
	return r.Devices, nil
}

func (c *Child) Info() device.Info { return c.about }

func (c *Child) Compiler() compile.Compiler { return c.compiler }

func (c *Child) Arch() string { return c.about.Limits.Target }

func (c *Child) Open(ctx context.Context, p *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	if proto.LaunchTimeout <= 0 {
		proto.LaunchTimeout = device.DefaultProtocol().LaunchTimeout
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.newSession(p, reference, proto)
	if err == nil {
		err = s.openOnce(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *Child) newSession(p *operator.Problem, reference *compile.Binary, proto device.Protocol) (*ChildSession, error) {
	c.sessions++
	s := &ChildSession{
		child: c, key: fmt.Sprintf("%s.%d", searchName, c.sessions), problem: p, proto: proto, limits: evaluationLimit, pauses: reopenPauses[:], binaries: map[string]built{},
	}
	return s, s.pack(reference)
}

// LaunchUnder launches a variant once in a child of its own under another program. The problem need not be open.
func (c *Child) LaunchUnder(ctx context.Context, p *operator.Problem, proto device.Protocol, program []string, v device.Variant, limit time.Duration) (trial.Outcome, error) {
	c.mu.Lock()
	s, err := c.newSession(p, nil, proto)
	c.mu.Unlock()
	if err != nil {
		return trial.Outcome{}, err
	}
	return s.LaunchUnder(ctx, program, v, limit, limit)
}

// Close ends the child and the compiler; the sessions end with them.
func (c *Child) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.end()
	if c.compiler != nil {
		err = errors.Join(err, c.compiler.Close())
	}
	return err
}

func (c *Child) ready(ctx context.Context) error {
	if c.process != nil && c.process.Alive() {
		return nil
	}
	if err := c.end(); err != nil {
		return err
	}
	p, err := worker.Start(ctx, c.options.Worker)
	if err == nil {
		c.process = p
	}
	return err
}

// searchName is the only search that asks a child.
const searchName = "child"

// call sends the child a request and waits for the answer, for limit at most. A child that
// has lost its device is ended.
func (c *Child) call(ctx context.Context, limit time.Duration, r Request, q question) (Response, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	response, err := c.callOn(limited, c.process, r, q)
	if err == nil && response.Lost {
		if err := c.abandon(); err != nil && response.Fault == nil {
			response.Fault = &Fault{Kind: Trouble, Message: err.Error()}
		}
	}
	return response, err
}

// callOn asks a process. Kernels that it lacks are compiled here, and it is asked again.
func (c *Child) callOn(ctx context.Context, p *worker.Process, r Request, q question) (none Response, err error) {
	r.Search = searchName
	if q.Message, err = Encode(r); err != nil {
		return none, err
	}
	q.Setup = Setup{c.options.Ordinal, c.options.CacheDir, c.about.Compiler, c.Arch()}
	for asked := map[string]bool{}; ; {
		a, err := worker.Call[question, reply](ctx, p, q)
		if err != nil {
			return none, err
		}
		if len(a.Wanted) == 0 {
			return Decode[Response](a.Message)
		}
		for _, k := range a.Wanted {
			if asked[k.Digest()] {
				return none, fmt.Errorf("the worker %s asks for %s again and again", c.options.Worker, k.File)
			}
			asked[k.Digest()] = true
		}
		more, err := c.compile(ctx, a.Wanted)
		if err != nil {
			return none, err
		}
		maps.Copy(more, q.Binaries)
		q.Binaries = more
	}
}

// compile compiles kernels that the child needs, all at once. That the compiler refuses one
// is a part of the result.
func (c *Child) compile(ctx context.Context, kernels []operator.Kernel) (map[string]built, error) {
	all, errs := make([]built, len(kernels)), make([]error, len(kernels))
	var group sync.WaitGroup
	for i, k := range kernels {
		part := c.part(ctx, k)
		group.Go(func() { all[i], errs[i] = part() })
	}
	group.Wait()
	byDigest := map[string]built{}
	for i, k := range kernels {
		if all[i].Binary == nil {
			delete(c.parts, k.Digest()) // it is tried again when it is needed again
		}
		byDigest[k.Digest()] = all[i]
	}
	return byDigest, errors.Join(errs...)
}

// part returns what compiles a kernel, once for all who need it.
func (c *Child) part(ctx context.Context, k operator.Kernel) func() (built, error) {
	digest := k.Digest()
	if c.parts[digest] == nil {
		c.parts[digest] = sync.OnceValues(func() (built, error) {
			binary, err := c.compiler.Compile(ctx, compile.Request{Kernel: k, Arch: c.Arch()})
			var refused *compile.Error
			switch {
			case errors.As(err, &refused):
				return built{Refused: FaultOf(refused)}, nil
			case err != nil:
				return built{}, fmt.Errorf("compile %s: %w", k.File, err)
			}
			return built{Binary: binary}, nil
		})
	}
	return c.parts[digest]
}

// end ends the child, if there is one, and waits for it: only then is its memory on the
// device free again.
func (c *Child) end() error {
	if c.process == nil {
		return nil
	}
	p := c.process
	c.process = nil
	return p.Close()
}

func (c *Child) abandon() error {
	if c.process != nil {
		c.process.Kill()
	}
	return c.end()
}
