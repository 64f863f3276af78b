package remote

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/worker"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

// The child process of these tests has a fake GPU. The value of a variant's tunable selects what the fake GPU does.
const (
	fakeChild    = "fake"
	driverless   = "driverless"
	opensFile    = "TEST_OPENS"     // file that gets a line for each Open
	failingOpens = "TEST_OPEN_FAIL" // file whose existence makes Open fail
)

// acts lists the values of the tunable that selects the fake GPU's behaviour.
var acts = []string{"fine", "dies", "hangs", "panics", "faults", "late", "trouble", "wrong"}

func TestMain(m *testing.M) {
	serve := func(v Vendor) worker.Func {
		return func(ctx context.Context, in io.Reader, out io.Writer) error { return Serve(ctx, in, out, v) }
	}
	worker.Dispatch(map[string]worker.Func{
		fakeChild: serve(Vendor{
			List: func() ([]device.Info, error) {
				return []device.Info{{Name: "NVIDIA Fake", Kind: device.CUDA, Driver: "580.1.2 (CUDA 13.0)", Limits: operator.Limits{Arch: 90, MaxThreadsPerBlock: 1024, MemoryBytes: 1 << 30}}}, nil
			},
			Open: func(s Setup, c compile.Compiler) (device.Device, error) { return &fakeGPU{setup: s, compiler: c}, nil },
			Exit: func() {},
		}),
		driverless: serve(Vendor{List: func() ([]device.Info, error) {
			return nil, &wrapped{"no NVIDIA driver: libcuda.so.1 not found", device.ErrNone}
		}}),
	})
	os.Exit(m.Run())
}

type wrapped struct {
	text string
	err  error
}

func (w *wrapped) Error() string { return w.text + ": " + w.err.Error() }
func (w *wrapped) Unwrap() error { return w.err }

type fakeGPU struct {
	setup    Setup
	compiler compile.Compiler
}

func (g *fakeGPU) Info() device.Info          { return device.Info{Kind: device.CUDA} }
func (g *fakeGPU) Compiler() compile.Compiler { return g.compiler }
func (g *fakeGPU) Arch() string               { return g.setup.Target }
func (g *fakeGPU) Close() error               { return nil }
func helper(name, source string) operator.Kernel {
	return operator.Kernel{Operator: "device", Template: "kernels", File: name, Source: source, Launches: operator.Launches{{Entry: "f"}}}
}

func (g *fakeGPU) Open(ctx context.Context, p *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	var errs []error
	for _, k := range []operator.Kernel{helper("kernels.cu", "1"), helper("typed.cu", "2")} {
		b, err := g.compiler.Compile(ctx, compile.Request{Kernel: k, Arch: g.Arch()})
		var refused *compile.Error
		if errors.As(err, &refused) {
			err = device.NotCompiled(p.Operator.Name, device.FillKernel, refused)
		}
		if err == nil && string(b.Code) != g.Arch()+" "+k.Source {
			err = errors.New("another kernel was compiled")
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if path := os.Getenv(opensFile); path != "" {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			f.WriteString("open " + proto.Distribution + "\n")
			f.Close()
		}
	}
	if _, err := os.Stat(os.Getenv(failingOpens)); err == nil {
		return nil, &wrapped{"needs 2 GiB, has 1 GiB", device.ErrMemory}
	}
	if string(reference.Code) == "bad" {
		return nil, errors.Join(device.ErrLost, &device.ReferenceError{Operator: p.Operator.Name, Fault: "fails: an illegal memory access"})
	}
	return &fakeSession{device.Ceilings{ReferenceMS: 7}, proto.Inputs()}, nil
}

func (g *fakeGPU) Launch(_ context.Context, p *operator.Problem, proto device.Protocol, v device.Variant) (trial.Outcome, error) {
	o := trial.Outcome{Status: trial.OK, Message: proto.LaunchTimeout.String() + " " + string(v.Binary.Code)}
	if actOf(v) == "faults" {
		return trial.Outcome{Status: trial.Crashed, Message: "an illegal memory access"}, device.ErrLost
	}
	return o, nil
}

type fakeSession struct {
	ceilings device.Ceilings
	inputs   device.Inputs
}

func actOf(v device.Variant) string {
	value, _ := v.Configuration.Get("act")
	n, _ := value.AsInt()
	return acts[n]
}

func (s *fakeSession) Ceilings() device.Ceilings { return s.ceilings }
func (s *fakeSession) Close() error              { return nil }

func (s *fakeSession) Refill(_ context.Context, in device.Inputs) error {
	if in.Distribution == "special" {
		return &device.ReferenceError{Operator: "toy", Fault: "gives NaN"}
	}
	s.inputs = in
	return nil
}

func (s *fakeSession) Check(_ context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	return trial.Outcome{Status: trial.OK}, c.Launches, nil
}

func (s *fakeSession) Evaluate(_ context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	if v.Kernel.Launches[0].SharedBytes > 1<<18 {
		return trial.Outcome{Status: trial.Pruned}, nil
	}
	switch actOf(v) {
	case "dies":
		os.Stderr.WriteString("a segmentation fault, say\n")
		os.Exit(3)
	case "hangs":
		time.Sleep(time.Hour)
	case "panics":
		panic("an index out of range, say")
	case "faults":
		return trial.Outcome{Status: trial.Crashed, Message: "an illegal memory access"}, device.ErrLost
	case "late":
		return trial.Outcome{Status: trial.Timeout}, device.ErrLost
	case "trouble":
		return trial.Outcome{}, errors.New("the GPU fell off the bus")
	case "wrong":
		return trial.Outcome{Status: trial.WrongResult, Measured: trial.Measured{MaxAbsError: 1}, Notice: s.inputs.Distribution}, nil
	}
	o := trial.Outcome{Status: trial.OK}
	o.SetSamples([]float64{1, 2, 3}, 1)
	return o, nil
}

// fakeCompiler runs in the search's process and remembers which files it compiled.
type fakeCompiler struct {
	compile.Compiler
	mu     sync.Mutex
	files  []string
	refuse string // file that the compiler refuses
}

func (c *fakeCompiler) Close() error    { return nil }
func (c *fakeCompiler) Version() string { return "NVRTC 0.0" }

func (c *fakeCompiler) Compile(_ context.Context, r compile.Request) (*compile.Binary, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = append(c.files, r.Kernel.File)
	if r.Kernel.File == c.refuse {
		return nil, &compile.Error{File: r.Kernel.File, Line: 3, Message: "no such type", Log: "the log"}
	}
	return &compile.Binary{Code: []byte(r.Arch + " " + r.Kernel.Source)}, nil
}

const toy = `
operator: toy
summary: copies its input
shape: [n]
tensors:
  - {name: x, role: input,  shape: [n]}
  - {name: y, role: output, shape: [n]}
inputs: [uniform01, normal]
cost: [8*n, n]
reference: reference.cu
templates:
  - name: plain
    source: plain.cu
    tunables: {act: [0, 1, 2, 3, 4, 5, 6, 7]}
    launch: {block: [32, 1, 1], grid: ["ceil_div(n, 32)", 1, 1], shared: 0}
    default: {act: 0}
`

func toyProblem(t *testing.T, fsys fs.FS) *operator.Problem {
	t.Helper()
	op, err := operator.Load(fsys, ".")
	must.OK(t, err)
	p, err := op.Bind(operator.Request{Shape: []int64{64}}, operator.Limits{Arch: 90, MaxThreadsPerBlock: 1024, WarpSize: 32})
	must.OK(t, err)
	return p
}

func onDisk(t *testing.T, files fstest.MapFS) fs.FS {
	t.Helper()
	dir := t.TempDir()
	must.OK(t, os.CopyFS(dir, files))
	return os.DirFS(dir)
}

func toyFiles() fstest.MapFS {
	return fstest.MapFS{
		"op.yaml":      {Data: []byte(toy)},
		"reference.cu": {Data: []byte("extern \"C\" __global__ void toy_reference(const float* x, float* y) {}\n")},
		"plain.cu":     {Data: []byte("extern \"C\" __global__ void toy_plain(const float* x, float* y) {}\n")},
	}
}

func variant(t *testing.T, p *operator.Problem, act string) device.Variant {
	t.Helper()
	c := space.Configuration{Template: "plain", Values: space.Values{{Name: "act", Value: expr.Int(int64(slices.Index(acts, act)))}}}
	k, err := p.Kernel(c)
	must.OK(t, err)
	return device.Variant{Configuration: c, Kernel: k, Binary: &compile.Binary{Code: []byte("code of " + act)}}
}

// openFake opens the toy operator on the fake GPU. openFake also returns a function that evaluates a variant for which
// the fake GPU behaves as the parameter act says.
func openFake(t *testing.T, c *fakeCompiler) (*Child, *Session, func(ctx context.Context, act string) (trial.Outcome, error)) {
	t.Helper()
	d, err := OpenChild(t.Context(), childOptions(fakeChild, 0, c))
	must.OK(t, err)
	t.Cleanup(func() { _ = d.Close() })
	p := toyProblem(t, onDisk(t, toyFiles()))
	s, err := d.Open(t.Context(), p, &compile.Binary{}, device.DefaultProtocol())
	must.OK(t, err)
	return d, s.(*Session), func(ctx context.Context, act string) (trial.Outcome, error) {
		return s.Evaluate(ctx, variant(t, p, act), 0)
	}
}

func childOptions(name string, ordinal int, c compile.Compiler) ChildOptions {
	return ChildOptions{
		Worker: name, Ordinal: ordinal, Compiler: func(context.Context) (compile.Compiler, error) { return c, nil },
		Target: func(string, int) string { return "sm_90a" },
	}
}

func TestChildInfo(t *testing.T) {
	compiler := &fakeCompiler{}
	d, s, _ := openFake(t, compiler)
	info := d.Info()
	if info.Name != "NVIDIA Fake" || info.Driver != "580.1.2 (CUDA 13.0)" || info.Compiler != "NVRTC 0.0" || info.Kind != device.CUDA || d.Arch() != "sm_90a" {
		t.Errorf("Info() = %+v, Arch() = %s", info, d.Arch())
	}
	if s.Ceilings().ReferenceMS != 7 {
		t.Errorf("Ceilings() = %+v", s.Ceilings())
	}
	// The device's own kernels are compiled by this process's compiler, and only once.
	if _, err := d.Open(t.Context(), toyProblem(t, onDisk(t, toyFiles())), &compile.Binary{}, device.DefaultProtocol()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(compiler.files)
	if want := []string{"kernels.cu", "typed.cu"}; !slices.Equal(compiler.files, want) {
		t.Errorf("compiled %q, want %q", compiler.files, want)
	}
}

// An operator's own kernel that does not compile is the operator's fault.
func TestChildRefusedPart(t *testing.T) {
	d, err := OpenChild(t.Context(), childOptions(fakeChild, 0, &fakeCompiler{refuse: "typed.cu"}))
	must.OK(t, err)
	defer d.Close()
	_, err = d.Open(t.Context(), toyProblem(t, onDisk(t, toyFiles())), &compile.Binary{}, device.DefaultProtocol())
	var failed *device.ReferenceError
	if !errors.As(err, &failed) || failed.Log != "the log" || err.Error() != "the fill kernel of toy does not compile: typed.cu:3: no such type" {
		t.Errorf("got %v", err)
	}
}

// A variant that crashes the child process fails only its own trial. A new child process opens the session again and
// evaluates the next variant as if nothing had happened.
func TestSearchGoesOnAfter(t *testing.T) {
	for _, tt := range []struct {
		act     string
		status  trial.Status
		message string
	}{
		{"dies", trial.Crashed, "a segmentation fault"},
		{"panics", trial.Crashed, "an index out of range"},
		{"faults", trial.Crashed, "an illegal memory access"},
		{"late", trial.Timeout, ""},
	} {
		t.Run(tt.act, func(t *testing.T) {
			opens := filepath.Join(t.TempDir(), "opens")
			t.Setenv(opensFile, opens)
			_, s, evaluate := openFake(t, &fakeCompiler{})
			must.OK(t, s.Refill(t.Context(), device.Inputs{Distribution: "normal", Seed: 5}))
			e, err := evaluate(t.Context(), tt.act)
			if err != nil || e.Status != tt.status || !strings.Contains(e.Message, tt.message) {
				t.Fatalf("Evaluate(%s) = %+v, %v; want status %s, message with %q", tt.act, e, err, tt.status, tt.message)
			}
			for range 2 {
				e, err = evaluate(t.Context(), "fine")
				if err != nil || e.Status != trial.OK || len(e.SamplesMS) != 3 {
					t.Fatalf("Evaluate(fine) afterwards = %+v, %v", e, err)
				}
			}
			if s.Ceilings().ReferenceMS != 7 {
				t.Errorf("the ceilings are gone: %+v", s.Ceilings())
			}
			if lines, _ := os.ReadFile(opens); string(lines) != "open uniform01\nopen normal\n" {
				t.Errorf("the session was opened as %q, want twice, then with the inputs of the moment", lines)
			}
		})
	}
}

func TestHangIsTimeout(t *testing.T) {
	d, s, evaluate := openFake(t, &fakeCompiler{})
	// The usual time limit of a stuck child is too long for a test.
	s.limits = func(device.Protocol) time.Duration { return 200 * time.Millisecond }
	e, err := evaluate(t.Context(), "hangs")
	if err != nil || e.Status != trial.Timeout {
		t.Fatalf("Evaluate(hangs) = %+v, %v; want a timeout", e, err)
	}
	if d.process != nil {
		t.Error("the child that hung is still there")
	}
	s.limits = evaluationLimit
	if e, err = evaluate(t.Context(), "fine"); err != nil || e.Status != trial.OK {
		t.Fatalf("Evaluate(fine) afterwards = %+v, %v", e, err)
	}
}

func TestCancelIsNoTimeout(t *testing.T) {
	_, _, evaluate := openFake(t, &fakeCompiler{})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if e, err := evaluate(ctx, "hangs"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Evaluate with a cancelled context = %+v, %v", e, err)
	}
	if e, err := evaluate(t.Context(), "fine"); err != nil || e.Status != trial.OK {
		t.Fatalf("Evaluate(fine) afterwards = %+v, %v", e, err)
	}
}

func TestTroubleIsAnError(t *testing.T) {
	_, _, evaluate := openFake(t, &fakeCompiler{})
	if _, err := evaluate(t.Context(), "trouble"); err == nil || !strings.Contains(err.Error(), "fell off the bus") {
		t.Errorf("Evaluate(trouble): %v", err)
	}
}

func TestGPUThatDoesNotRecover(t *testing.T) {
	block := filepath.Join(t.TempDir(), "block")
	t.Setenv(failingOpens, block)
	_, s, evaluate := openFake(t, &fakeCompiler{})
	s.pauses = []time.Duration{time.Millisecond, time.Millisecond}
	must.OK(t, os.WriteFile(block, nil, 0o644))
	if e, err := evaluate(t.Context(), "dies"); err != nil || e.Status != trial.Crashed {
		t.Fatalf("Evaluate(dies) = %+v, %v", e, err)
	}
	if _, err := evaluate(t.Context(), "fine"); err == nil || !errors.Is(err, device.ErrMemory) || !strings.Contains(err.Error(), "does not recover") {
		t.Fatalf("Evaluate with a GPU that does not recover: %v", err)
	}
	must.OK(t, os.Remove(block))
	if e, err := evaluate(t.Context(), "fine"); err != nil || e.Status != trial.OK {
		t.Fatalf("Evaluate(fine) once it has recovered = %+v, %v", e, err)
	}
}

// Two sessions share a child, and each session is opened again in a new child when it is next used.
func TestTwoSessionsOneChild(t *testing.T) {
	opens := filepath.Join(t.TempDir(), "opens")
	t.Setenv(opensFile, opens)
	d, first, evaluate := openFake(t, &fakeCompiler{})
	p := toyProblem(t, onDisk(t, toyFiles()))
	second, err := d.Open(t.Context(), p, &compile.Binary{}, device.DefaultProtocol())
	must.OK(t, err)
	if _, err := evaluate(t.Context(), "dies"); err != nil {
		t.Fatal(err)
	}
	fine := variant(t, p, "fine")
	var wait sync.WaitGroup
	for _, s := range []device.Session{first, second, first, second} {
		wait.Go(func() {
			if e, err := s.Evaluate(context.Background(), fine, 0); err != nil || e.Status != trial.OK {
				t.Errorf("Evaluate = %+v, %v", e, err)
			}
		})
	}
	wait.Wait()
	lines, _ := os.ReadFile(opens)
	if n := strings.Count(string(lines), "open"); n != 4 {
		t.Errorf("%d opens, want 2 before and 2 after the crash", n)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := second.Evaluate(t.Context(), fine, 0); err == nil {
		t.Error("a closed session evaluates")
	}
	if _, err := evaluate(t.Context(), "fine"); err != nil {
		t.Errorf("the other session after one was closed: %v", err)
	}
}

func TestNoDevice(t *testing.T) {
	open := func(name string, ordinal int) error {
		_, err := OpenChild(t.Context(), childOptions(name, ordinal, &fakeCompiler{}))
		return err
	}
	for _, tt := range []struct {
		name    string
		open    func() error
		message string
	}{
		{"no driver", func() error { return open(driverless, 0) }, "libcuda.so.1 not found"},
		{"no driver, list", func() error { _, err := Devices(t.Context(), driverless); return err }, "libcuda.so.1 not found"},
		{"no such ordinal", func() error { return open(fakeChild, 1) }, "no GPU 1, this machine has 1"},
	} {
		if err := tt.open(); !errors.Is(err, device.ErrNone) || !strings.Contains(err.Error(), tt.message) {
			t.Errorf("%s: %v; want ErrNone with %q", tt.name, err, tt.message)
		}
	}
}

// A reference that fails is the operator's fault, and the GPU can still be used.
func TestBadReference(t *testing.T) {
	d, s, evaluate := openFake(t, &fakeCompiler{})
	var failed *device.ReferenceError
	_, err := d.Open(t.Context(), toyProblem(t, onDisk(t, toyFiles())), &compile.Binary{Code: []byte("bad")}, device.DefaultProtocol())
	if !errors.As(err, &failed) || err.Error() != "the reference of toy fails: an illegal memory access" {
		t.Errorf("Open with a reference that fails: %v", err)
	}
	if e, err := evaluate(t.Context(), "fine"); err != nil || e.Status != trial.OK {
		t.Errorf("Evaluate(fine) in another session = %+v, %v", e, err)
	}
	if err := s.Refill(t.Context(), device.Inputs{Distribution: "special"}); !errors.As(err, &failed) || failed.Fault != "gives NaN" {
		t.Errorf("Refill with inputs that the reference fails on: %v", err)
	}
}

// All parts of a variant and of its outcome survive the transport to a child process and back.
func TestChildOutcomes(t *testing.T) {
	d, s, evaluate := openFake(t, &fakeCompiler{})
	must.OK(t, s.Refill(t.Context(), device.Inputs{Distribution: "normal", Seed: 3}))
	if o, err := evaluate(t.Context(), "wrong"); err != nil || o.Status != trial.WrongResult || o.MaxAbsError != 1 || o.Notice != "normal" {
		t.Errorf("got %+v, %v", o, err)
	}
	if o, n, err := s.Check(t.Context(), variant(t, s.problem, "fine"), device.Check{Launches: 9}); err != nil || n != 9 || o.Status != trial.OK {
		t.Errorf("Check = %+v, %d, %v", o, n, err)
	}
	// If the caller has changed a kernel's launches, the child uses the changed launches.
	changed := variant(t, s.problem, "fine")
	changed.Kernel.Launches = slices.Clone(changed.Kernel.Launches)
	changed.Kernel.Launches[0].SharedBytes = 1 << 20
	if o, err := s.Evaluate(t.Context(), changed, 0); err != nil || o.Status != trial.Pruned {
		t.Errorf("a launch that takes too much: %s, %v", o.Status, err)
	}
	under := func(act string, limit time.Duration) (trial.Outcome, error) {
		return d.LaunchUnder(t.Context(), s.problem, s.Protocol(), []string{"/usr/bin/env"}, variant(t, s.problem, act), limit, time.Minute)
	}
	o, err := under("fine", 3*time.Second)
	if err != nil || o.Status != trial.OK || o.Message != "3s code of fine" {
		t.Errorf("LaunchUnder = %+v, %v", o, err)
	}
	if o, err := under("faults", time.Second); err != nil || o.Status != trial.Crashed {
		t.Errorf("LaunchUnder of one that faults = %+v, %v", o, err)
	}
}

func TestUnknownDistribution(t *testing.T) {
	d, _, _ := openFake(t, &fakeCompiler{})
	proto := device.DefaultProtocol()
	proto.Distribution = "cauchy"
	if _, err := d.Open(t.Context(), toyProblem(t, onDisk(t, toyFiles())), &compile.Binary{}, proto); err == nil || !strings.Contains(err.Error(), "uniform01 normal negative") {
		t.Errorf("Open with an unknown distribution: %v", err)
	}
}
