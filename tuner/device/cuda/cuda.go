package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"autotune/internal/worker"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/operator"
)

// workerName is what the program's main dispatches cudaworker.Run under.
const workerName = "cuda"

// Options adjust a GPU; the zero value is right for a search.
type Options struct {
	CacheDir string // where compilations are kept; "": nowhere
	Sanitize bool   // also run each variant under NVIDIA's compute-sanitizer
}

// Open starts a worker on the GPU with that ordinal (in the driver's order, see
// List) and the compiler for it. The error wraps device.ErrNone when there is no
// such GPU, compile.ErrMissing when there is no compiler, ErrNoSanitizer when there
// is no compute-sanitizer that was asked for.
func Open(ctx context.Context, ordinal int, o Options) (device.Device, error) {
	var options []string
	var sanitizer string
	if o.Sanitize {
		var err error
		if sanitizer, err = FindSanitizer(); err != nil {
			return nil, err
		}
		options = append(options, compile.LineInfo)
	}
	g, err := open(ctx, workerName, ordinal, func() (compile.Compiler, error) {
		c, err := compile.NVRTC(ctx, options...)
		if err == nil && o.CacheDir != "" {
			c = compile.Cached(o.CacheDir, c)
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	g.cacheDir = o.CacheDir
	if o.Sanitize {
		return &sanitized{g, sanitizer}, nil
	}
	return g, nil
}

// List describes the GPUs of this machine. The error wraps device.ErrNone when
// there are none.
func List(ctx context.Context) ([]device.Info, error) { return list(ctx, workerName) }

func list(ctx context.Context, name string) ([]device.Info, error) {
	g := &gpu{name: name}
	defer g.Close()
	return g.describe(ctx)
}

// faultError gives a fault the identity that callers of the device test for.
func faultError(f *wire.Fault) error {
	switch {
	case f == nil:
		return nil
	case f.Kind == wire.NoDevice:
		return fmt.Errorf("%s: %w", f.Message, device.ErrNone)
	case f.Kind == wire.NoMemory:
		return fmt.Errorf("%s: %w", f.Message, device.ErrMemory)
	default:
		return f
	}
}

// gpu is the search's side of a device. Its lock is held while the worker
// works: a GPU that is measured on does one thing at a time.
type gpu struct {
	name     string // of the worker
	ordinal  int
	cacheDir string           // where answers are kept; "": nowhere
	compiler compile.Compiler // nil until the GPU is known to be there
	about    device.Info
	helpers  func() ([]byte, error) // kernels.cu compiled, which begins when the GPU is opened
	typed    func() ([]byte, error) // typed.cu compiled, which begins when a problem needs it

	mu       sync.Mutex
	process  *worker.Process // nil when a new one must be started
	sessions int             // counts sessions, for their numbers
}

func open(ctx context.Context, name string, ordinal int, newCompiler func() (compile.Compiler, error)) (*gpu, error) {
	g := &gpu{name: name, ordinal: ordinal}
	if err := g.start(ctx, newCompiler); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// start finds the GPU first: where there is none, a missing compiler is not what
// is missing.
func (g *gpu) start(ctx context.Context, newCompiler func() (compile.Compiler, error)) error {
	found, err := g.describe(ctx)
	if err != nil {
		return err
	}
	if g.ordinal < 0 || g.ordinal >= len(found) {
		return fmt.Errorf("there is no GPU %d, this machine has %d, counted from 0: %w", g.ordinal, len(found), device.ErrNone)
	}
	if g.compiler, err = newCompiler(); err != nil {
		return err
	}
	g.about = found[g.ordinal]
	g.about.Compiler = g.compiler.Version()
	g.about.Limits.Target = compile.Target(g.about.Compiler, g.about.Limits.Arch)
	own := context.WithoutCancel(ctx)
	g.helpers = sync.OnceValues(func() ([]byte, error) { return g.compileOwn(own, helperKernel()) })
	g.typed = sync.OnceValues(func() ([]byte, error) { return g.compileOwn(own, typedKernel()) })
	go g.helpers() // who needs them asks again
	return nil
}

// describe describes all GPUs.
func (g *gpu) describe(ctx context.Context) ([]device.Info, error) {
	if err := g.ready(ctx); err != nil {
		return nil, err
	}
	r, err := g.call(ctx, openLimit, wire.Request{Describe: true})
	if err != nil {
		return nil, fmt.Errorf("describe the GPUs: %w", err)
	}
	return r.GPUs, faultError(r.Fault)
}

func (g *gpu) Info() device.Info { return g.about }

func (g *gpu) Compiler() compile.Compiler { return g.compiler }

// Arch is what kernels are compiled for.
func (g *gpu) Arch() string { return g.about.Limits.Target }

// Close ends the worker and the compiler; the sessions end with them.
func (g *gpu) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.end()
	if g.compiler != nil {
		err = errors.Join(err, g.compiler.Close())
	}
	return err
}

// Open prepares a problem on the GPU.
func (g *gpu) Open(ctx context.Context, p *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	kernel, err := g.referenceOf(p, reference)
	if err != nil {
		return nil, err
	}
	filled, err := fills(p.Arguments, proto.Inputs())
	if err != nil {
		return nil, err
	}
	if proto.LaunchTimeout <= 0 {
		proto.LaunchTimeout = device.DefaultProtocol().LaunchTimeout
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	helpers, typed, err := g.helpersFor(p.Arguments)
	if err != nil {
		return nil, err
	}
	g.sessions++
	s := &session{gpu: g, number: g.sessions, problem: p, inputs: proto.Inputs(), limits: evaluationLimit, pauses: reopenPauses[:], request: wire.Open{
		Ordinal: g.ordinal, Arguments: p.Arguments, Fills: filled, Helpers: helpers, Typed: typed, Reference: kernel, Protocol: proto,
	}}
	if err = s.addOwn(ctx); err == nil {
		err = s.openOnce(ctx)
	}
	if err != nil {
		return nil, errors.Join(s.blamed(err), s.removeFolder())
	}
	s.request.KnownCeilings = true
	return s, nil
}

// referenceOf is the reference as the worker launches it; nothing where no kernel says
// what is right.
func (g *gpu) referenceOf(p *operator.Problem, reference *compile.Binary) (wire.Image, error) {
	if p.Operator.Answers != nil {
		return wire.Image{}, nil
	}
	kernel, err := p.Reference()
	if err != nil {
		return wire.Image{}, fmt.Errorf("the reference's launch: %w", err)
	}
	if wrong := mismatch(reference, kernel, p.Arguments); wrong != "" {
		return wire.Image{}, &device.ReferenceError{Operator: p.Operator.Name, Fault: "cannot be launched: " + wrong}
	}
	return imageOf(reference, kernel, p.Arguments), nil
}

// ready starts a worker if the last is gone.
func (g *gpu) ready(ctx context.Context) error {
	if g.process != nil && g.process.Alive() {
		return nil
	}
	if err := g.end(); err != nil {
		return err
	}
	p, err := worker.Start(ctx, g.name)
	if err == nil {
		g.process = p
	}
	return err
}

// call sends the worker a request and waits for the answer, for limit at most. A
// worker that says it is of no more use is ended.
func (g *gpu) call(ctx context.Context, limit time.Duration, q wire.Request) (wire.Response, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := worker.Call[wire.Request, wire.Response](limited, g.process, q)
	if err == nil && r.Unusable {
		if err := g.abandon(); err != nil && r.Fault == nil {
			r.Fault = &wire.Fault{Kind: wire.Trouble, Message: err.Error()}
		}
	}
	return r, err
}

// end ends the worker, if there is one, and waits for it: only then is its
// memory on the GPU free again.
func (g *gpu) end() error {
	if g.process == nil {
		return nil
	}
	p := g.process
	g.process = nil
	return p.Close()
}

// abandon ends a worker that is of no more use.
func (g *gpu) abandon() error {
	if g.process != nil {
		g.process.Kill()
	}
	return g.end()
}
