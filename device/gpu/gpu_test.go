package gpu

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/answers"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/internal/test/testoperators"
	"autotune/operator"
)

// bench is a session of the tests' operator on a fake GPU.
type bench struct {
	t       *testing.T
	driver  *fakeDriver
	device  device.Device
	problem *operator.Problem
	session device.Session
}

func fakeProtocol() device.Protocol {
	p := testoperators.Protocol()
	p.LaunchTimeout = 50 * time.Millisecond
	return p
}

// fakeBench opens a problem on a fake GPU, and returns the error if that fails.
func fakeBench(t *testing.T, c fakeCompiler, proto device.Protocol, problem func(operator.Limits) *operator.Problem) (*bench, error) {
	t.Helper()
	b := &bench{t: t, driver: newFake()}
	var err error
	if b.device, err = Open(b.driver, 0, Options{Compiler: c, Target: "sm_90a"}); err != nil {
		t.Fatal(err)
	}
	b.problem = problem(b.device.Info().Limits)
	var reference *compile.Binary
	if b.problem.Operator.Answers == nil {
		k, err := b.problem.Reference()
		must.OK(t, err)
		reference = &compile.Binary{Code: []byte(k.File)}
	}
	b.session, err = b.device.Open(t.Context(), b.problem, reference, proto)
	return b, err
}

func openAffine(t *testing.T, proto device.Protocol) *bench {
	t.Helper()
	b, err := fakeBench(t, fakeCompiler{}, proto, func(l operator.Limits) *operator.Problem { return testoperators.Problem(t, "affine", fakeN, l) })
	must.OK(t, err)
	return b
}

// variant returns the compiled variant whose mode is the given one.
func (b *bench) variant(mode int64) device.Variant {
	b.t.Helper()
	v := testoperators.Variant(b.t, b.problem, mode)
	v.Binary = &compile.Binary{Code: []byte(fmt.Sprint(mode))}
	return v
}

// closed closes the session and checks that no memory, parameters or modules are left on the GPU.
func (b *bench) closed() {
	b.t.Helper()
	must.OK(b.t, b.session.Close())
	if g := b.driver; len(g.blocks) > 0 || g.bindsOf > 0 || g.modules > 0 {
		b.t.Errorf("left %d blocks, %d arguments, %d modules", len(g.blocks), g.bindsOf, g.modules)
	}
}

// Describing a GPU creates no context; opening the first problem does.
func TestOpenDescribes(t *testing.T) {
	d := newFake()
	g, err := Open(d, 0, Options{Compiler: fakeCompiler{}, Target: "sm_90a"})
	must.OK(t, err)
	if i := g.Info(); i.Name != "Fake" || i.Compiler != "fake 1.0" || i.Limits.Target != "sm_90a" || g.Arch() != "sm_90a" || d.opened != 0 {
		t.Errorf("%+v, opened %d times", i, d.opened)
	}
	if _, err := Open(d, 1, Options{}); !errors.Is(err, device.ErrNone) {
		t.Errorf("there is no GPU 1: %v", err)
	}
}

// Whatever a variant does wrong, its status says so, and all memory that it damaged is restored for the next variant.
func TestEvaluate(t *testing.T) {
	b := openAffine(t, fakeProtocol())
	if c := b.session.Ceilings(); c.ReferenceMS != 1 || c.CopyBytesPerMS < 1 {
		t.Errorf("%+v", c)
	}
	for _, tt := range []struct {
		mode    int64
		best    float64
		status  trial.Status
		message string
		dropped bool
	}{
		{0, 0, trial.OK, "", false},
		{1, 0, trial.WrongResult, "y differs from the reference in 1 of 1000 elements, first at [777]: ", false},
		{4, 0, trial.WrongResult, "it wrote outside its tensors: 1 word after y", false},
		{5, 0, trial.WrongResult, "it changed x, which it may only read", false},
		{7, 0, trial.WrongResult, "y differs from the reference in 500 of 1000 elements, first at [1]", false},
		{6, 1, trial.OK, "", true},
		{0, 1, trial.OK, "", false},
	} {
		o, err := b.session.Evaluate(t.Context(), b.variant(tt.mode), tt.best)
		if err != nil || o.Status != tt.status || !strings.Contains(o.Message, tt.message) || o.Dropped != tt.dropped {
			t.Errorf("mode %d: %s %q, dropped %v, %v", tt.mode, o.Status, o.Message, o.Dropped, err)
		}
		if o.Status == trial.OK && !tt.dropped && (o.Time.Median != 1 || o.ClockMHz != 1500 || o.Resources.Registers != 32) {
			t.Errorf("mode %d: %+v", tt.mode, o)
		}
	}
	b.closed()
}

// A variant that ends the GPU's context gets a status for it, and the device is lost afterwards.
func TestLost(t *testing.T) {
	for mode, want := range map[int64]trial.Outcome{
		2: {Status: trial.Crashed, Message: "the kernel faulted: an illegal memory access was encountered"},
		3: {Status: trial.Timeout, Message: "a launch ran for more than 50ms"},
	} {
		b := openAffine(t, fakeProtocol())
		o, err := b.session.Evaluate(t.Context(), b.variant(mode), 0)
		if o.Status != want.Status || o.Message != want.Message || !errors.Is(err, device.ErrLost) {
			t.Errorf("mode %d: %s %q, %v", mode, o.Status, o.Message, err)
		}
		if o, err := b.session.Evaluate(t.Context(), b.variant(0), 0); !errors.Is(err, device.ErrLost) || o.Status != "" {
			t.Errorf("after mode %d: %+v, %v", mode, o, err)
		}
		must.OK(t, b.session.Close())
	}
}

// A check makes the requested number of launches, on outputs that hold other values before each launch, and stops at
// the first wrong launch. After Refill the inputs are different, and so are the right answers.
func TestCheckAndRefill(t *testing.T) {
	b := openAffine(t, fakeProtocol())
	if o, launches, err := b.session.Check(t.Context(), b.variant(0), device.Check{Launches: 7, Exact: true}); err != nil || o.Status != trial.OK || launches != 7 {
		t.Errorf("%+v after %d launches, %v", o, launches, err)
	}
	must.OK(t, b.session.Refill(t.Context(), device.Inputs{Distribution: "normal", Seed: 5}))
	for mode, want := range map[int64]string{0: "", 1: "launch 1 of 3: y differs from the reference in 1 of 1000"} {
		o, launches, err := b.session.Check(t.Context(), b.variant(mode), device.Check{Launches: 3})
		if err != nil || !strings.HasPrefix(o.Message, want) || (want == "") != (o.Status == trial.OK) || launches != map[bool]int{true: 3, false: 1}[want == ""] {
			t.Errorf("mode %d: %+v after %d launches, %v", mode, o, launches, err)
		}
	}
	b.closed()
}

// A check writes what its launch read and wrote to files, unless the launch was wrong. A check that cannot write to its
// folder does not end the search.
func TestCheckLeaves(t *testing.T) {
	b := openAffine(t, fakeProtocol())
	left := func(mode int64, dir string) (trial.Outcome, map[string]int) {
		o, _, err := b.session.Check(t.Context(), b.variant(mode), device.Check{Leave: dir})
		must.OK(t, err)
		sizes := map[string]int{}
		for _, a := range b.problem.Arguments {
			for _, name := range []string{answers.InputName(a), answers.OutputName(a)} {
				if contents, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
					sizes[name] = len(contents)
				}
			}
		}
		return o, sizes
	}
	dir := t.TempDir()
	if o, sizes := left(0, dir); o.Status != trial.OK || !maps.Equal(sizes, map[string]int{"x.input": 4 * fakeN, "w.input": 64, "y.output": 4 * fakeN}) {
		t.Errorf("%+v leaves %v", o, sizes)
	}
	reference, tensors := make([]byte, 4*fakeN), &b.session.(*session).tensors
	y := slices.IndexFunc(b.problem.Arguments, func(a operator.Argument) bool { return a.Name == "y" })
	must.OK(t, tensors.gpu.Read(reference, tensors.references[y]))
	if y, err := os.ReadFile(filepath.Join(dir, "y.output")); err != nil || !bytes.Equal(y, reference) {
		t.Errorf("y.output is not what the reference gives, %v", err)
	}
	if o, sizes := left(1, t.TempDir()); o.Status != trial.WrongResult || len(sizes) > 0 {
		t.Errorf("%+v leaves %v", o, sizes)
	}
	if o, _ := left(0, filepath.Join(dir, "none")); o.Status != trial.LaunchError || !strings.Contains(o.Message, "no such file") {
		t.Errorf("%+v", o)
	}
	if o, _ := left(0, dir); o.Status != trial.LaunchError || !strings.Contains(o.Message, "exists") {
		t.Errorf("into files that are there: %+v", o)
	}
	b.closed()
}

// Each timing condition causes the right driver calls: the cache is emptied before each sample or filled before the
// first, and launches are queued one by one or as a graph.
func TestConditions(t *testing.T) {
	for _, tt := range []struct {
		device.Conditions
		want string // calls of the driver from the second last sample on
	}{
		{device.Conditions{}, "set, record 2, launch affine_direct, record 3, set, record 4, launch affine_direct, record 5"},
		{device.Conditions{L2: device.Warm}, "record 2, launch affine_direct, record 3, record 4, launch affine_direct, record 5"},
		{device.Conditions{Launch: device.Graph}, "set, record 2, graph, launch affine_direct, record 3, set, record 4, graph, launch affine_direct, record 5"},
	} {
		proto := fakeProtocol()
		proto.Samples, proto.MinSamples, proto.Conditions = 3, 3, tt.Conditions
		b := openAffine(t, proto)
		b.driver.calls = nil
		if o, err := b.session.Evaluate(t.Context(), b.variant(0), 0); err != nil || o.Time.Samples != 3 {
			t.Errorf("%v: %+v, %v", tt.Conditions, o, err)
		}
		if all := strings.Join(b.driver.calls, ", "); !strings.Contains(all, tt.want) || strings.Count(all, "reset") != 3 { // of the samples, and of two lone launches
			t.Errorf("%v: %s", tt.Conditions, all)
		}
		b.closed()
	}
}

// A launch is classified as short by timing many launches in a row, because the time of a single launch includes time
// of the host. A long launch is timed without a warm-up.
func TestShortLaunches(t *testing.T) {
	for lone, want := range map[float64]int{0: shortLaunches, 1: shortLaunches, 9: 0, longMS: -1} {
		proto := fakeProtocol()
		proto.Samples, proto.MinSamples, proto.BatchBelow = 1, 1, 1500*time.Microsecond
		b := openAffine(t, proto)
		b.driver.calls, b.driver.lone = nil, lone
		if o, err := b.session.Evaluate(t.Context(), b.variant(0), 0); err != nil || o.Status != trial.OK {
			t.Errorf("%+v, %v", o, err)
		}
		// Besides the launches that estimate the time, other launches verify, warm up and time the variant, and prove
		// that it skips no work.
		others := 9
		if lone >= longMS {
			others = 5
		}
		if got := strings.Count(strings.Join(b.driver.calls, " "), "launch affine_direct"); got != want+others {
			t.Errorf("where a call takes %v ms more, %d launches, want %d", lone, got, want+others)
		}
		b.closed()
	}
}

// Variants are judged correctly for all ways to fill tensors, to compute the right answers and to compare outputs.
func TestOwn(t *testing.T) {
	byElement := [3]string{"y differs from the reference in 1 of 1000 elements", "total differs from the reference in 1 of 1000 elements", "1 NaN or infinite"}
	for _, tt := range []struct {
		name  string
		edits []string
		wrong [3]string // of modes 1 to 3
	}{
		{"a reference kernel", nil, byElement},
		{"a comparison", []string{testoperators.OwnReference, testoperators.OwnComparison}, [3]string{
			"compare.cu gives 1024 for how far it is from the reference; it must be 0", "compare.cu gives 1e+06 for", "compare.cu gives 1e+09 for"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			b, err := fakeBench(t, fakeCompiler{}, fakeProtocol(), func(l operator.Limits) *operator.Problem { return testoperators.Own(t, fakeN, l, tt.edits...) })
			must.OK(t, err)
			for range 2 { // on the first inputs and on others
				if o, err := b.session.Evaluate(t.Context(), b.variant(0), 0); err != nil || o.Status != trial.OK || o.Time.Median != 1 {
					t.Errorf("%+v, %v", o, err)
				}
				for mode, want := range tt.wrong {
					o, err := b.session.Evaluate(t.Context(), b.variant(int64(mode+1)), 0)
					if err != nil || o.Status != trial.WrongResult || !strings.Contains(o.Message, want) {
						t.Errorf("mode %d: %s %q, %v", mode+1, o.Status, o.Message, err)
					}
				}
				must.OK(t, b.session.Refill(t.Context(), device.Inputs{Distribution: "normal", Seed: 9}))
			}
			b.closed()
			if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "autotune-answers-*")); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// A fault of the operator is reported as a ReferenceError, and leaves nothing allocated on the GPU.
func TestBlame(t *testing.T) {
	refuse := func(file string) func(operator.Kernel) error {
		return func(k operator.Kernel) error {
			if k.File == file {
				return &compile.Error{File: file, Line: 3, Message: "no"}
			}
			return nil
		}
	}
	for want, tt := range map[string]struct {
		edits    []string
		compiler fakeCompiler
	}{
		"the fill kernel of own is wrong: fill.cu: it wrote outside its tensors: 1 word after k": {edits: []string{"#define STRAY 0", "#define STRAY 1"}},
		"the comparison of own does not compile: compare.cu:3: no":                               {[]string{testoperators.OwnReference, testoperators.OwnComparison}, fakeCompiler{refuse: refuse("compare.cu")}},
		"the fill kernel of own does not compile: fill.cu:3: no":                                 {nil, fakeCompiler{refuse: refuse("fill.cu")}},
		"the reference of own fails: python3: ":                                                  {edits: []string{testoperators.OwnReference, testoperators.OwnPython, "import numpy as np", "import nowhere"}},
	} {
		want, _, python := strings.Cut(want, " python3")
		if python && !testneeds.Python.Here(t) {
			continue
		}
		b, err := fakeBench(t, tt.compiler, fakeProtocol(), func(l operator.Limits) *operator.Problem { return testoperators.Own(t, fakeN, l, tt.edits...) })
		var failed *device.ReferenceError
		if !errors.As(err, &failed) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
		if len(b.driver.blocks) > 0 || b.driver.modules > 0 {
			t.Errorf("%s: left %d blocks, %d modules", want, len(b.driver.blocks), b.driver.modules)
		}
	}
}

// Problems that are opened one after another share the device's own kernels and the measured bandwidth of copies.
func TestReopen(t *testing.T) {
	var files []string
	b, err := fakeBench(t, fakeCompiler{files: &files}, fakeProtocol(), func(l operator.Limits) *operator.Problem { return testoperators.Problem(t, "affine", fakeN, l) })
	must.OK(t, err)
	b.driver.calls, b.driver.now = nil, 1e6
	s, err := b.device.Open(t.Context(), b.problem, &compile.Binary{Code: []byte("0")}, fakeProtocol())
	must.OK(t, err)
	if first, again := b.session.Ceilings(), s.Ceilings(); first.ReferenceMS != again.ReferenceMS || first.CopyBytesPerMS != again.CopyBytesPerMS || slices.Contains(b.driver.calls, "copy") {
		t.Errorf("%+v, then %+v, by %v", first, again, b.driver.calls)
	}
	must.OK(t, s.Close())
	b.closed()
	if want := []string{"kernels.cu"}; !slices.Equal(files, want) {
		t.Errorf("compiled %v, want %v", files, want)
	}
}

// In a launch for a watching program such as compute-sanitizer, only the variant and the kernels that fill its tensors
// run, and there are no guard zones.
func TestLaunch(t *testing.T) {
	for mode, want := range map[int64]trial.Status{0: trial.OK, 1: trial.OK, 3: trial.Timeout, 4: trial.Crashed} {
		d := newFake()
		g, err := Open(d, 0, Options{Compiler: fakeCompiler{}})
		must.OK(t, err)
		b := &bench{t: t, driver: d, device: g, problem: testoperators.Problem(t, "affine", fakeN, g.Info().Limits)}
		o, err := g.(device.Launcher).Launch(t.Context(), b.problem, fakeProtocol(), b.variant(mode))
		if o.Status != want || errors.Is(err, device.ErrLost) != (want != trial.OK) {
			t.Errorf("mode %d: %+v, %v", mode, o, err)
		}
		if all := strings.Join(d.calls, ", "); strings.Contains(all, "compare") || strings.Contains(all, "guard") || strings.Contains(all, "reference") {
			t.Errorf("mode %d: %s", mode, all)
		}
	}
}

// A kernel whose parameters do not match the arguments is never launched.
func TestMismatchedVariant(t *testing.T) {
	b := openAffine(t, fakeProtocol())
	v := b.variant(0)
	v.Binary.Code = []byte("takes 24")
	o, err := b.session.Evaluate(t.Context(), v, 0)
	if err != nil || o.Status != trial.LaunchError || o.Message != "the kernel's parameters take 24 bytes, the operator's 4 arguments 32" {
		t.Errorf("%+v, %v", o, err)
	}
	var failed *device.ReferenceError
	if _, err := b.device.Open(t.Context(), b.problem, v.Binary, fakeProtocol()); !errors.As(err, &failed) || !strings.Contains(err.Error(), "cannot be launched: the kernel's parameters take 24 bytes") {
		t.Errorf("a reference with three pointers for four tensors: %v", err)
	}
	b.closed()
}

// A tensor map is passed as its 128 bytes, which begin with the tensor's address.
func TestBindMaps(t *testing.T) {
	g := &fakeGPU{}
	v := variant{gpu: g, launches: []launch{{Launch: operator.Launch{Maps: []operator.TensorMap{{At: 1, Words: [7]int64{1, 2, 3, 4, 5, -6, 7}}}}}}}
	v.bind(make([]operator.Argument, 3), []uint64{10, 20, 30})
	want := []uint64{10, 20, 1, 2, 3, 4, 5, 1<<64 - 6, 7, 0, 0, 0, 0, 0, 0, 0, 0, 30}
	if got := v.launches[0].parameters; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if v.unbind(); g.bindsOf != 0 {
		t.Error("arguments are left")
	}
}

// A problem that does not fit into the GPU's memory gives an error before any memory is allocated.
func TestTooLarge(t *testing.T) {
	_, err := fakeBench(t, fakeCompiler{}, fakeProtocol(), func(l operator.Limits) *operator.Problem { return testoperators.Problem(t, "affine", 1<<26, l) })
	if !errors.Is(err, device.ErrMemory) || !strings.Contains(err.Error(), "for the problem: out of memory") {
		t.Error(err)
	}
}
