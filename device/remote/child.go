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

// ChildOptions say which device a Child drives, and how its kernels are compiled.
type ChildOptions struct {
	Worker   string // the name under which the program's main dispatches to Serve
	Ordinal  int
	CacheDir string // folder of cached answers; "" means none
	// Compiler starts the compiler once the device has been found. Target returns the architecture to compile for,
	// given the compiler's version and the device's architecture.
	Compiler func(context.Context) (compile.Compiler, error)
	Target   func(version string, arch int) string
	// Ahead lists kernels that the child will need. OpenChild starts to compile the kernels in Ahead at once, before a
	// problem is opened.
	Ahead []operator.Kernel
}

// childName is a child's name as a worker, and the first part of its sessions' keys.
const childName = "child"

// reopenPauses are the waits between attempts to open a session in a new child, because it may take a while until the
// memory of a killed child is free.
var reopenPauses = [...]time.Duration{100 * time.Millisecond, time.Second, 4 * time.Second}

// Child is a device.Device in a child process, which is this executable started again. A kernel that faults or never
// ends takes down the child and not the search.
type Child struct {
	options  ChildOptions
	compiler compile.Compiler // nil until the device has been found
	about    device.Info

	mu       sync.Mutex      // held while the child works, because a GPU must do nothing else during a measurement
	process  *worker.Process // nil when a new one must be started
	sessions int             // counts sessions, for their keys
	// parts maps the digest of a kernel of the device or the operator to the function that compiles it.
	parts map[string]func() (built, error)
}

// Devices describes the devices that a child process finds. The error wraps device.ErrNone if the child finds no
// devices.
func Devices(ctx context.Context, workerName string) ([]device.Info, error) {
	c := &Child{options: ChildOptions{Worker: workerName}}
	defer c.Close()
	return c.describe(ctx)
}

// OpenChild starts a child process and finds its device. The error wraps device.ErrNone if the requested device does
// not exist; in that case OpenChild does not look for a compiler.
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
		go c.part(context.WithoutCancel(ctx), k)() // a later call gets the result; Close ends the compilation
	}
	return c, nil
}

func (c *Child) describe(ctx context.Context) ([]device.Info, error) {
	r, err := c.Call(ctx, Query{Request: Request{Kind: Describe}, Wait: openLimit})
	if err != nil {
		return nil, fmt.Errorf("describe the GPUs: %w", err)
	}
	if r.Fault != nil {
		return nil, r.Fault.err("", "")
	}
	return r.Devices, nil
}

func (c *Child) Info() device.Info { return c.about }

func (c *Child) Compiler() compile.Compiler { return c.compiler }

func (c *Child) Arch() string { return c.about.Limits.Target }

func (c *Child) Open(
	ctx context.Context, p *operator.Problem, reference *compile.Binary, proto device.Protocol,
) (device.Session, error) {
	s, err := c.newSession(p, reference, proto)
	if err == nil {
		err = s.Open(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *Child) newSession(p *operator.Problem, reference *compile.Binary, proto device.Protocol) (*Session, error) {
	if proto.LaunchTimeout <= 0 {
		proto.LaunchTimeout = device.DefaultProtocol().LaunchTimeout
	}
	c.mu.Lock()
	c.sessions++
	key := fmt.Sprintf("%s.%d", childName, c.sessions)
	c.mu.Unlock()
	s, err := NewSession(c, key, p, reference, proto)
	if err == nil {
		s.pauses = reopenPauses[:]
	}
	return s, err
}

// LaunchUnder launches a variant once, in a child of its own that runs under another program, and waits until both have
// ended. LaunchUnder does not verify the outputs, and the problem need not be open.
func (c *Child) LaunchUnder(
	ctx context.Context, p *operator.Problem, proto device.Protocol, program []string, v device.Variant,
	launch, whole time.Duration,
) (trial.Outcome, error) {
	s, err := c.newSession(p, nil, proto)
	if err != nil {
		return trial.Outcome{}, err
	}
	q := s.about(v, Request{Kind: Launch, Limit: launch})
	opening := s.open()
	q.ID, q.Problem, q.Opening, q.Inputs = s.key, s.key, opening.Opening, opening.Inputs
	c.mu.Lock()
	defer c.mu.Unlock()
	process, err := worker.StartUnder(ctx, program, c.options.Worker)
	if err != nil {
		return trial.Outcome{}, err
	}
	limited, cancel := context.WithTimeout(ctx, whole)
	defer cancel()
	a, err := c.callOn(limited, process, q)
	return a.Outcome, errors.Join(err, process.Close(), s.errorOf(a))
}

// Close ends the child, with its sessions, and the compiler.
func (c *Child) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.end()
	if c.compiler != nil {
		err = errors.Join(err, c.compiler.Close())
	}
	return err
}

// Call sends the child a request and waits for the response. A child that does not answer in time, dies or loses its
// device is replaced at the next request. If the child was evaluating a variant, the variant's outcome says that the
// child was lost.
func (c *Child) Call(ctx context.Context, q Query) (Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	alive := c.process != nil && c.process.Alive()
	if q.Kind == Close && !alive {
		return Response{Kind: Close}, nil // the problem's memory went with its process
	}
	if !alive {
		if err := c.start(ctx); err != nil {
			return Response{}, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, q.Wait)
	defer cancel()
	r, err := c.callOn(limited, c.process, q)
	if err != nil {
		return c.lost(ctx, q, err)
	}
	if r.Lost || q.Kind == Close && r.Fault != nil {
		if err := c.abandon(); err != nil && r.Fault == nil {
			r.Fault = &Fault{Kind: Trouble, Message: err.Error()}
		}
	}
	return r, nil
}

// lost ends a child that did not answer, and returns the response or error with which the request ends.
func (c *Child) lost(ctx context.Context, q Query, cause error) (Response, error) {
	err := c.abandon()
	if q.Kind == Close && err == nil {
		return Response{Kind: Close}, nil // the problem was closed by the end of its process
	}
	if err != nil || ctx.Err() != nil || q.Kind != Evaluate && q.Kind != Check {
		return Response{}, errors.Join(cause, err)
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return q.Failed(trial.Timeout, fmt.Sprintf("no answer within %v", q.Wait)), nil
	}
	return q.Failed(trial.Crashed, cause.Error()), nil // most often a *worker.DiedError
}

// callOn sends a request to a process. If the child process lacks kernels, callOn compiles them and repeats the
// request.
func (c *Child) callOn(ctx context.Context, p *worker.Process, r Query) (none Response, err error) {
	setup := Setup{c.options.Ordinal, c.options.CacheDir, c.about.Compiler, c.Arch()}
	q := question{Setup: setup, Extra: r.Extra, Opens: r.Opening != nil}
	if q.Message, err = Encode(r.Request); err != nil {
		return none, err
	}
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
		maps.Copy(more, q.Extra.Binaries)
		q.Extra.Binaries = more
	}
}

// compile compiles the kernels that the child needs in parallel. The result of compile includes the compile errors of
// kernels.
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
			delete(c.parts, k.Digest()) // the next request for the kernel tries again
		}
		byDigest[k.Digest()] = all[i]
	}
	return byDigest, errors.Join(errs...)
}

// part returns a function that compiles a kernel at its first call, and returns the same result to all callers.
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

func (c *Child) start(ctx context.Context) error {
	if err := c.end(); err != nil {
		return err
	}
	p, err := worker.Start(ctx, c.options.Worker)
	if err == nil {
		c.process = p
	}
	return err
}

// end ends the child, if there is one, and waits for its end, because only then is its memory on the device free again.
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
