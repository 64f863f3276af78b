package cuda

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"autotune/internal/worker"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
)

//go:embed kernels.cu
var kernels string

// Open starts a worker on the GPU with that ordinal (in the driver's order, see
// List). The compiler stays the caller's to close. The error wraps
// device.ErrNone when there is no such GPU.
func Open(ctx context.Context, ordinal int, compiler compile.Compiler) (device.Device, error) {
	if !hasWorker {
		return nil, errNotBuilt()
	}
	return open(ctx, workerName, ordinal, compiler)
}

// List describes the GPUs of this machine. The error wraps device.ErrNone when
// there are none.
func List(ctx context.Context) ([]device.Info, error) {
	if !hasWorker {
		return nil, errNotBuilt()
	}
	return list(ctx, workerName)
}

func errNotBuilt() error {
	return fmt.Errorf("this autotune was built without the tag cuda: build it with make (or go build -tags cuda): %w", device.ErrNone)
}

func list(ctx context.Context, name string) ([]device.Info, error) {
	p, err := worker.Start(ctx, name)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	found, err := describe(ctx, p)
	if err != nil {
		return nil, err
	}
	infos := make([]device.Info, len(found))
	for i, d := range found {
		infos[i] = d.info("")
	}
	return infos, nil
}

func describe(ctx context.Context, p *worker.Process) ([]description, error) {
	a, err := worker.Call[order, answer](ctx, p, order{Describe: true})
	if err != nil {
		return nil, fmt.Errorf("describe the GPUs: %w", err)
	}
	return a.Devices, a.Fault.err()
}

func (d description) info(compiler string) device.Info {
	return device.Info{Name: d.Name, Kind: device.CUDA, Driver: d.driver(), Compiler: compiler, Limits: d.Limits}
}

// err gives a fault the identity that callers of the device test for.
func (f *fault) err() error {
	switch {
	case f == nil:
		return nil
	case f.Kind == faultNone:
		return fmt.Errorf("%s: %w", f.Message, device.ErrNone)
	case f.Kind == faultMemory:
		return fmt.Errorf("%s: %w", f.Message, device.ErrMemory)
	default:
		return f
	}
}

// gpu is the parent's side of a device. Its lock is held while the worker
// works: a GPU that is measured on does one thing at a time.
type gpu struct {
	name     string // of the worker
	ordinal  int
	compiler compile.Compiler
	about    description

	mu       sync.Mutex
	process  *worker.Process // nil when a new one must be started
	started  int             // counts workers, so that a session knows whether it was opened in this one
	sessions int             // counts sessions, for their numbers
	helpers  []byte          // kernels.cu compiled, once it was needed
}

func open(ctx context.Context, name string, ordinal int, compiler compile.Compiler) (*gpu, error) {
	g := &gpu{name: name, ordinal: ordinal, compiler: compiler}
	p, err := g.running(ctx)
	if err != nil {
		return nil, err
	}
	found, err := describe(ctx, p)
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	if ordinal < 0 || ordinal >= len(found) {
		err := fmt.Errorf("there is no GPU %d, this machine has %d, counted from 0: %w", ordinal, len(found), device.ErrNone)
		return nil, errors.Join(err, g.Close())
	}
	g.about = found[ordinal]
	g.about.Limits.Target = g.target()
	return g, nil
}

func (g *gpu) Info() device.Info {
	version := ""
	if g.compiler != nil {
		version = g.compiler.Version()
	}
	return g.about.info(version)
}

func (g *gpu) Compiler() compile.Compiler { return g.compiler }

func (g *gpu) Arch() string { return g.about.Limits.Target }

// target is what kernels are compiled for.
func (g *gpu) target() string {
	version := ""
	if g.compiler != nil {
		version = g.compiler.Version()
	}
	return compile.Target(version, g.about.Limits.Arch)
}

// Close ends the worker; the sessions end with it.
func (g *gpu) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.end()
}

// Open prepares a problem on the GPU.
func (g *gpu) Open(ctx context.Context, p *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	kernel, err := p.Reference()
	if err != nil {
		return nil, fmt.Errorf("the reference's launch: %w", err)
	}
	if _, err := distributionNumber(proto.Distribution); err != nil {
		return nil, err
	}
	if proto.LaunchTimeout <= 0 {
		proto.LaunchTimeout = device.DefaultProtocol().LaunchTimeout
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.compileHelpers(ctx); err != nil {
		return nil, err
	}
	g.sessions++
	s := &session{gpu: g, limits: evaluationLimit, pauses: reopenPauses[:], order: openOrder{
		Ordinal: g.ordinal, Session: g.sessions, Tensors: p.Tensors, Helpers: g.helpers,
		Reference: image{Code: reference.Code, Entry: reference.Entry, Launch: kernel.Launch},
		Protocol:  proto, ATol: p.ATol, RTol: p.RTol,
	}}
	if err := s.openOnce(ctx); err != nil {
		return nil, err
	}
	s.order.KnownCeilings = true
	return s, nil
}

// compileHelpers compiles the device's own kernels.
func (g *gpu) compileHelpers(ctx context.Context) error {
	if g.helpers != nil {
		return nil
	}
	binary, err := g.compiler.Compile(ctx, compile.Request{Kernel: helperKernel(), Arch: g.Arch()})
	if err != nil {
		return fmt.Errorf("compile the device's own kernels: %w", err)
	}
	g.helpers = binary.Code
	return nil
}

// running gives the worker, a new one if the last is gone.
func (g *gpu) running(ctx context.Context) (*worker.Process, error) {
	if g.process != nil && g.process.Alive() {
		return g.process, nil
	}
	if err := g.end(); err != nil {
		return nil, err
	}
	p, err := worker.Start(ctx, g.name)
	if err != nil {
		return nil, err
	}
	g.process = p
	g.started++
	return p, nil
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
