package cuda

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"autotune/internal/worker"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/answers"
	"autotune/tuner/device/cuda/cudaworker"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// fakeWorker stands in for the worker that has a GPU. What it does with a
// variant is said by the variant's entry.
const (
	fakeWorker   = "fake-cuda"
	driverless   = "driverless-cuda"
	opensFile    = "TEST_OPENS"     // file that gets a line for each Open
	failingOpens = "TEST_OPEN_FAIL" // file whose existence makes Open fail
)

func TestMain(m *testing.M) {
	workers := map[string]worker.Func{
		fakeWorker: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return worker.Serve(ctx, in, out, (&fakeGPU{open: map[int]*wire.Open{}}).serve)
		},
		driverless: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return worker.Serve(ctx, in, out, func(context.Context, wire.Request) (wire.Response, error) {
				return wire.Response{Fault: &wire.Fault{Kind: wire.NoDevice, Message: "no NVIDIA driver: libcuda.so.1 not found"}}, nil
			})
		},
		"compile":  compile.Worker,
		workerName: cudaworker.Run,
	}
	worker.Dispatch(workers)
	os.Exit(m.Run())
}

type fakeGPU struct{ open map[int]*wire.Open }

func (g *fakeGPU) serve(_ context.Context, q wire.Request) (wire.Response, error) {
	switch {
	case q.Describe:
		return wire.Response{GPUs: []device.Info{{
			Name: "NVIDIA Fake", Kind: device.CUDA, Driver: "580.1.2 (CUDA 13.0)", Limits: operator.Limits{Arch: 90, MaxThreadsPerBlock: 1024},
		}}}, nil
	case q.Sanitize != nil:
		return g.sanitized(q.Sanitize), nil
	case q.Open != nil:
		return g.opened(q.Session, q.Open), nil
	case q.Close:
		delete(g.open, q.Session)
		return wire.Response{}, nil
	case g.open[q.Session] == nil:
		return wire.Response{Fault: &wire.Fault{Kind: wire.Trouble, Message: "no such session"}}, nil
	case q.Inputs != nil:
		return wire.Response{Fault: wroteInputs(g.open[q.Session], q.Inputs.Files)}, nil
	case q.Refill != nil:
		g.open[q.Session].Answers = nil
		return wire.Response{}, nil
	case q.Answer != nil:
		g.open[q.Session].Answers = q.Answer.Files
		return wire.Response{}, nil
	}
	if fault := withoutAnswer(g.open[q.Session]); fault != nil {
		return wire.Response{Fault: fault}, nil
	}
	switch q.Evaluate.Variant.Launches[0].Symbol {
	case "dies":
		os.Stderr.WriteString("a segmentation fault, say\n")
		os.Exit(3)
	case "hangs":
		time.Sleep(time.Hour)
	case "panics":
		panic("an index out of range, say")
	case "faults":
		return wire.Response{Unusable: true, Outcome: trial.Outcome{Status: trial.Crashed, Message: "an illegal memory access"}}, nil
	case "late":
		return wire.Response{Unusable: true, Outcome: trial.Outcome{Status: trial.Timeout}}, nil
	case "trouble":
		return wire.Response{Fault: &wire.Fault{Kind: wire.Trouble, Message: "the GPU fell off the bus"}}, nil
	}
	o := trial.Outcome{Status: trial.OK, SamplesMS: []float64{1, 2, 3}}
	if q.Evaluate.Energy {
		o.EnergyMJ = 42.5
	}
	return wire.Response{Outcome: o}, nil
}

// wroteInputs writes inputs of zeros.
func wroteInputs(o *wire.Open, files []string) *wire.Fault {
	for i, a := range o.Arguments {
		if files[i] == "" {
			continue
		}
		if err := os.WriteFile(files[i], make([]byte, a.Bytes()), 0o600); err != nil {
			return &wire.Fault{Kind: wire.Trouble, Message: err.Error()}
		}
	}
	return nil
}

// withoutAnswer complains of a session whose operator has files, but none with what is
// right for a tensor that is compared.
func withoutAnswer(o *wire.Open) *wire.Fault {
	if o.Files == nil {
		return nil
	}
	for i, a := range o.Arguments {
		if !a.Role.Compared() {
			continue
		}
		if i >= len(o.Answers) {
			return &wire.Fault{Kind: wire.Trouble, Message: "nobody brought what is right"}
		}
		if _, err := answers.Size(o.Answers[i], a.Bytes()); err != nil {
			return &wire.Fault{Kind: wire.Trouble, Message: err.Error()}
		}
	}
	return nil
}

func (g *fakeGPU) sanitized(q *wire.Sanitize) wire.Response {
	switch q.Variant.Launches[0].Symbol {
	case "slow_under_tools":
		return wire.Response{Unusable: true, Outcome: trial.Outcome{Status: trial.Timeout, Message: "it was not done in time"}}
	case "faults":
		return wire.Response{Unusable: true, Outcome: trial.Outcome{Status: trial.Crashed, Message: "an illegal memory access"}}
	case "dies_under_tools":
		os.Exit(3)
	}
	return wire.Response{Outcome: trial.Outcome{Status: trial.OK}}
}

func (g *fakeGPU) opened(session int, o *wire.Open) wire.Response {
	if path := os.Getenv(opensFile); path != "" {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			f.WriteString("open\n")
			f.Close()
		}
	}
	if _, err := os.Stat(os.Getenv(failingOpens)); err == nil {
		return wire.Response{Fault: &wire.Fault{Kind: wire.NoMemory, Message: "needs 2 GiB, has 1 GiB"}}
	}
	if slices.ContainsFunc(o.Reference.Launches, func(l wire.Launch) bool { return l.Symbol == "bad_reference" }) {
		return wire.Response{Unusable: true, Fault: &wire.Fault{Kind: wire.BadReference, Message: "fails: an illegal memory access"}}
	}
	g.open[session] = o
	if o.KnownCeilings {
		return wire.Response{}
	}
	return wire.Response{Ceilings: device.Ceilings{ReferenceMS: 7}}
}

// fakeCompiler compiles everything to nothing.
type fakeCompiler struct{ compile.Compiler }

func newFakeCompiler() (compile.Compiler, error) { return fakeCompiler{}, nil }

func (fakeCompiler) Close() error { return nil }

func (fakeCompiler) Version() string { return "NVRTC 0.0" }

func (fakeCompiler) Compile(_ context.Context, r compile.Request) (*compile.Binary, error) {
	return &compile.Binary{Code: []byte(r.Arch)}, nil
}

// variantOf is a variant that launches one kernel.
func variantOf(entry string) device.Variant {
	return device.Variant{Binary: &compile.Binary{}, Kernel: operator.Kernel{Launches: operator.Launches{{Entry: entry}}}}
}

// openFake opens a session on the fake GPU and gives the function that
// evaluates a variant by its entry.
func openFake(t *testing.T, proto device.Protocol) (*gpu, device.Session, func(ctx context.Context, entry string) (trial.Outcome, error)) {
	t.Helper()
	g, err := open(t.Context(), fakeWorker, 0, newFakeCompiler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	p := affine(t, 1024, g.Info().Limits)
	s, err := g.Open(t.Context(), p, &compile.Binary{}, proto)
	if err != nil {
		t.Fatal(err)
	}
	return g, s, func(ctx context.Context, entry string) (trial.Outcome, error) {
		return s.Evaluate(ctx, variantOf(entry), 0)
	}
}

// recordingCompiler remembers the files that it compiled.
type recordingCompiler struct {
	fakeCompiler
	files chan string
}

func (c recordingCompiler) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	c.files <- r.Kernel.File
	return c.fakeCompiler.Compile(ctx, r)
}

// The kernels for other types than f32 are compiled for the first problem that has
// one, and once.
func TestTypedKernelsAreCompiledWhereNeeded(t *testing.T) {
	files := make(chan string, 10)
	g, err := open(t.Context(), fakeWorker, 0, func() (compile.Compiler, error) { return recordingCompiler{files: files}, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	var compiled []string
	for _, name := range []string{"affine", "mixed", "affine", "mixed"} {
		s, err := g.Open(t.Context(), testProblem(t, name, 1000, g.Info().Limits), &compile.Binary{}, testProtocol())
		if err != nil {
			t.Fatal(err)
		}
		if typed := s.(*session).request.Typed; (len(typed) > 0) != (name == "mixed") {
			t.Errorf("%s has %d bytes of typed kernels", name, len(typed))
		}
		for len(files) > 0 {
			compiled = append(compiled, name+" "+<-files)
		}
	}
	if want := []string{"affine kernels.cu", "mixed typed.cu"}; !slices.Equal(compiled, want) {
		t.Errorf("compiled %q, want %q", compiled, want)
	}
}

// Each argument that is filled has its own seed, whatever lies between them.
func TestFills(t *testing.T) {
	p := testProblem(t, "mixed", 1000, operator.Limits{})
	filled, err := fills(p.Arguments, device.Inputs{Seed: 10, Distribution: "normal"})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range p.Arguments {
		want := uint32(0)
		if a.Role.Filled() {
			want = 10 + uint32(i)
		}
		if filled[i].Seed != want {
			t.Errorf("%s has the seed %d, want %d", a.Name, filled[i].Seed, want)
		}
	}
	if q := filled[1]; q.A != 0 || q.B != 7 {
		t.Errorf("q is filled with %+v", q)
	}
}

func TestInfo(t *testing.T) {
	g, s, _ := openFake(t, testProtocol())
	info := g.Info()
	if info.Name != "NVIDIA Fake" || info.Driver != "580.1.2 (CUDA 13.0)" || info.Compiler != "NVRTC 0.0" || info.Kind != device.CUDA || g.Arch() != "sm_90" {
		t.Errorf("Info() = %+v, Arch() = %s", info, g.Arch())
	}
	if s.Ceilings().ReferenceMS != 7 {
		t.Errorf("Ceilings() = %+v", s.Ceilings())
	}
}

// A variant that takes the worker down costs one trial: the next one is
// evaluated as if nothing had happened, by a new worker that knows the session.
func TestSearchGoesOnAfter(t *testing.T) {
	for _, tt := range []struct {
		entry   string
		status  trial.Status
		message string
	}{
		{"dies", trial.Crashed, "a segmentation fault"},
		{"panics", trial.Crashed, "an index out of range"},
		{"faults", trial.Crashed, "an illegal memory access"},
		{"late", trial.Timeout, ""},
	} {
		t.Run(tt.entry, func(t *testing.T) {
			opens := filepath.Join(t.TempDir(), "opens")
			t.Setenv(opensFile, opens)
			_, s, evaluate := openFake(t, testProtocol())
			e, err := evaluate(t.Context(), tt.entry)
			if err != nil || e.Status != tt.status || !strings.Contains(e.Message, tt.message) {
				t.Fatalf("Evaluate(%s) = %+v, %v; want status %s, message with %q", tt.entry, e, err, tt.status, tt.message)
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
			lines, _ := os.ReadFile(opens)
			if n := strings.Count(string(lines), "open"); n != 2 {
				t.Errorf("the session was opened %d times, want twice", n)
			}
		})
	}
}

func TestHangIsTimeout(t *testing.T) {
	proto := testProtocol()
	g, s, evaluate := openFake(t, proto)
	// The slack that a stuck worker gets is too long for a test.
	s.(*session).limits = func(device.Protocol) time.Duration { return 200 * time.Millisecond }
	e, err := evaluate(t.Context(), "hangs")
	if err != nil || e.Status != trial.Timeout {
		t.Fatalf("Evaluate(hangs) = %+v, %v; want a timeout", e, err)
	}
	if g.process != nil {
		t.Error("the worker that hung is still there")
	}
	if e, err = evaluate(t.Context(), "fine"); err != nil || e.Status != trial.OK {
		t.Fatalf("Evaluate(fine) afterwards = %+v, %v", e, err)
	}
}

func TestCancelIsNoTimeout(t *testing.T) {
	_, _, evaluate := openFake(t, testProtocol())
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
	_, _, evaluate := openFake(t, testProtocol())
	if _, err := evaluate(t.Context(), "trouble"); err == nil || !strings.Contains(err.Error(), "fell off the bus") {
		t.Errorf("Evaluate(trouble): %v", err)
	}
}

func TestGPUThatDoesNotRecover(t *testing.T) {
	block := filepath.Join(t.TempDir(), "block")
	t.Setenv(failingOpens, block)
	_, s, evaluate := openFake(t, testProtocol())
	s.(*session).pauses = []time.Duration{time.Millisecond, time.Millisecond}
	if err := os.WriteFile(block, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if e, err := evaluate(t.Context(), "dies"); err != nil || e.Status != trial.Crashed {
		t.Fatalf("Evaluate(dies) = %+v, %v", e, err)
	}
	if _, err := evaluate(t.Context(), "fine"); err == nil || !errors.Is(err, device.ErrMemory) || !strings.Contains(err.Error(), "does not recover") {
		t.Fatalf("Evaluate with a GPU that does not recover: %v", err)
	}
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	if e, err := evaluate(t.Context(), "fine"); err != nil || e.Status != trial.OK {
		t.Fatalf("Evaluate(fine) once it has recovered = %+v, %v", e, err)
	}
}

// Two sessions share a worker; each is opened again when it is needed.
func TestTwoSessionsOneWorker(t *testing.T) {
	opens := filepath.Join(t.TempDir(), "opens")
	t.Setenv(opensFile, opens)
	g, first, evaluate := openFake(t, testProtocol())
	second, err := g.Open(t.Context(), affine(t, 512, g.Info().Limits), &compile.Binary{}, testProtocol())
	if err != nil {
		t.Fatal(err)
	}
	fine := variantOf("fine")
	if _, err := evaluate(t.Context(), "dies"); err != nil {
		t.Fatal(err)
	}
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
	for _, tt := range []struct {
		name    string
		open    func() error
		message string
	}{
		{"no driver", func() error { _, err := open(t.Context(), driverless, 0, newFakeCompiler); return err }, "libcuda.so.1 not found"},
		{"no driver, list", func() error { _, err := list(t.Context(), driverless); return err }, "libcuda.so.1 not found"},
		{"no such ordinal", func() error { _, err := open(t.Context(), fakeWorker, 1, newFakeCompiler); return err }, "no GPU 1, this machine has 1"},
	} {
		if err := tt.open(); !errors.Is(err, device.ErrNone) || !strings.Contains(err.Error(), tt.message) {
			t.Errorf("%s: %v; want ErrNone with %q", tt.name, err, tt.message)
		}
	}
}

func TestUnknownDistribution(t *testing.T) {
	g, _, _ := openFake(t, testProtocol())
	proto := testProtocol()
	proto.Distribution = "cauchy"
	if _, err := g.Open(t.Context(), affine(t, 512, g.Info().Limits), &compile.Binary{}, proto); err == nil || !strings.Contains(err.Error(), "uniform01 normal negative") {
		t.Errorf("Open with an unknown distribution: %v", err)
	}
}

// A reference that fails is the operator's fault, not the GPU's, which goes on.
func TestBadReference(t *testing.T) {
	g, _, evaluate := openFake(t, testProtocol())
	var failed *device.ReferenceError
	_, err := g.Open(t.Context(), affine(t, 512, g.Info().Limits), &compile.Binary{Symbols: map[string]string{"affine_reference": "bad_reference"}}, testProtocol())
	if !errors.As(err, &failed) || err.Error() != "the reference of affine fails: an illegal memory access" {
		t.Errorf("Open with a reference that fails: %v", err)
	}
	if e, err := evaluate(t.Context(), "fine"); err != nil || e.Status != trial.OK {
		t.Errorf("Evaluate(fine) in another session = %+v, %v", e, err)
	}
}

// The energy of a launch is part of the outcome, when it is asked for.
func TestEnergy(t *testing.T) {
	_, s, _ := openFake(t, testProtocol())
	for _, wanted := range []bool{true, false} {
		v := variantOf("fine")
		v.Energy = wanted
		o, err := s.Evaluate(t.Context(), v, 0)
		if err != nil || o.Status != trial.OK || (o.EnergyMJ == 42.5) != wanted {
			t.Errorf("asked for: %v, got %g mJ, %s, %v", wanted, o.EnergyMJ, o.Status, err)
		}
	}
}

// Without a GPU, Open and List say what is missing: the driver, or the worker.
func TestNothingToOpen(t *testing.T) {
	_, listErr := List(t.Context())
	if listErr == nil {
		t.Skip("this machine has a GPU")
	}
	_, openErr := Open(t.Context(), 0, Options{})
	for _, err := range []error{openErr, listErr} {
		if !errors.Is(err, device.ErrNone) || !strings.Contains(err.Error(), missingHere) {
			t.Errorf("%v; want ErrNone with %q", err, missingHere)
		}
	}
}
