package fleet_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote/fleet"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/natstest"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/space"
)

// toyText describes an operator with 12 x 12 configurations.
var toyText = toy.OpYAML("toy", "tunables: {a: "+toy.Numbers(12)+", b: "+toy.Numbers(12)+"}", "default: {a: 1, b: 1}")

func toyProblem(t testing.TB) *operator.Problem { return toy.Problem(t, toyText, 64) }

// fakeGPU is a device that evaluates configurations with a Go function.
type fakeGPU struct {
	name, driver string
	// evaluate returns the outcome of a configuration of the toy, or an error of the device; if evaluate is nil, the
	// function bowl is used.
	evaluate func(ctx context.Context, c space.Configuration) (trial.Outcome, error)
	refuse   func(k operator.Kernel) error // returns the compiler's error
	open     func(p *operator.Problem) error

	mu       sync.Mutex
	compiled map[string]int // by kernel
	ran      map[string]int // by configuration
	opened   int
	closed   int
	refilled []device.Inputs
}

func (f *fakeGPU) Info() device.Info {
	name := f.name
	if name == "" {
		name = "Fake 100"
	}
	return device.Info{Name: name, Kind: device.CUDA, Driver: f.driver, Compiler: f.Version(), Limits: toy.Limits}
}
func (f *fakeGPU) Arch() string               { return "sm_90" }
func (f *fakeGPU) Compiler() compile.Compiler { return f }
func (f *fakeGPU) Close() error               { return nil }
func (f *fakeGPU) Version() string            { return "fake compiler 1" }
func (f *fakeGPU) Workers() int               { return 2 }

func (f *fakeGPU) Compile(_ context.Context, r compile.Request) (*compile.Binary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.compiled == nil {
		f.compiled = map[string]int{}
	}
	f.compiled[r.Kernel.Digest()]++
	if f.refuse != nil {
		if err := f.refuse(r.Kernel); err != nil {
			return nil, err
		}
	}
	return &compile.Binary{Code: []byte(r.Kernel.Digest()), Symbols: map[string]string{"toy_plain": "mangled"}, Log: "a warning"}, nil
}

func (f *fakeGPU) Open(_ context.Context, p *operator.Problem, _ *compile.Binary, proto device.Protocol) (device.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open != nil {
		if err := f.open(p); err != nil {
			return nil, err
		}
	}
	f.opened++
	return &fakeSession{f, p, proto.Inputs()}, nil
}

type fakeSession struct {
	gpu     *fakeGPU
	problem *operator.Problem
	inputs  device.Inputs
}

func (s *fakeSession) Ceilings() device.Ceilings {
	return device.Ceilings{ReferenceMS: 100, CopyBytesPerMS: 1e9}
}

func (s *fakeSession) Close() error {
	s.gpu.mu.Lock()
	defer s.gpu.mu.Unlock()
	s.gpu.closed++
	return nil
}

func (s *fakeSession) Refill(_ context.Context, in device.Inputs) error {
	s.gpu.mu.Lock()
	defer s.gpu.mu.Unlock()
	s.inputs = in
	s.gpu.refilled = append(s.gpu.refilled, in)
	return nil
}

func (s *fakeSession) Check(_ context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	if string(v.Binary.Code) != v.Kernel.Digest() || v.Binary.Symbol("toy_plain") != "mangled" {
		return trial.Outcome{Status: trial.WrongResult, Message: "another binary"}, 1, nil
	}
	if c.Leave != "" {
		return trial.Outcome{}, 0, os.WriteFile(filepath.Join(c.Leave, "left"), nil, 0o600)
	}
	return trial.Outcome{Status: trial.OK}, max(1, c.Launches), nil
}

func (s *fakeSession) Evaluate(ctx context.Context, v device.Variant, _ float64) (trial.Outcome, error) {
	if string(v.Binary.Code) != v.Kernel.Digest() {
		return trial.Outcome{Status: trial.WrongResult, Message: "another binary"}, nil
	}
	s.gpu.mu.Lock()
	if s.gpu.ran == nil {
		s.gpu.ran = map[string]int{}
	}
	s.gpu.ran[v.Configuration.Key()]++
	s.gpu.mu.Unlock()
	if s.gpu.evaluate != nil {
		return s.gpu.evaluate(ctx, v.Configuration)
	}
	return bowl(v.Configuration), nil
}

func (f *fakeGPU) runs() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]int{}
	for key, n := range f.ran {
		all[key] = n
	}
	return all
}

// bowl is a function of the configuration that is fastest at a = 4, b = 3.
func bowl(c space.Configuration) trial.Outcome {
	a, b := number(c, "a"), number(c, "b")
	return took(1 + (a-4)*(a-4) + (b-3)*(b-3))
}

func number(c space.Configuration, name string) float64 { return float64(toy.Number(c, name)) }

func took(ms float64) trial.Outcome {
	o := trial.Outcome{Status: trial.OK}
	o.SetSamples([]float64{ms, ms, ms, ms, ms, ms}, 1)
	return o
}

// quick shortens the times after which lost workers and connections are noticed.
var quick = fleet.ConnectOptions{Beat: 50 * time.Millisecond, Gone: time.Second}

// calm allows long silence, so that a busy machine does not make a worker count as gone.
var calm = fleet.ConnectOptions{Beat: 50 * time.Millisecond, Gone: 10 * time.Second}

type place struct {
	options fleet.ConnectOptions
	t       testing.TB
	url     string
	said    chan string
	brokers sync.Map // of workers, by name
}

func newPlace(t testing.TB) *place {
	t.Helper()
	return &place{options: calm, t: t, url: natstest.Server(t), said: make(chan string, 1000)}
}

// lose cuts a worker's connection for good, as if its host had gone down.
func (p *place) lose(name string) {
	b, _ := p.brokers.Load(name)
	b.(*fleet.Broker).Conn.Close()
}

func (p *place) connect(name string) *fleet.Broker {
	p.t.Helper()
	b, err := fleet.Connect(fleet.Login{URL: p.url}, name, p.options)
	must.OK(p.t, err)
	return b
}

// worker starts a worker, and returns a function that ends the worker and a channel that then receives its error.
func (p *place) worker(name string, gpu device.Device, change ...func(*fleet.WorkerOptions)) (stop func(), ended <-chan error) {
	p.t.Helper()
	b := p.connect(name)
	p.brokers.Store(name, b)
	ctx, cancel := context.WithCancel(p.t.Context())
	o := fleet.WorkerOptions{Name: name, Say: func(text string) { p.said <- name + ": " + text }}
	for _, c := range change {
		c(&o)
	}
	done := make(chan error, 1)
	go func() {
		done <- fleet.Serve(ctx, b, gpu, o)
		b.Close()
	}()
	p.t.Cleanup(cancel)
	return cancel, done
}

// pool opens the workers as one device, once at least the given number of workers has joined.
func (p *place) pool(workers int, change ...func(*fleet.Options)) *fleet.Pool {
	p.t.Helper()
	o := fleet.Options{Wait: 3 * time.Second}
	o.Say = func(text string) { p.said <- text }
	for _, c := range change {
		c(&o)
	}
	d, err := fleet.Open(p.t.Context(), p.connect("search"), o)
	must.OK(p.t, err)
	p.t.Cleanup(func() { _ = d.Close() })
	await(p.t, "all workers", func() bool { return len(d.Workers()) >= workers })
	return d
}

func await(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}
