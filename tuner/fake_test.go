package tuner_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
)

// toyOperator has 4 x 4 configurations less those that the constraint rules
// out: 14.
const toyOperator = `
operator: toy
summary: copies its input
shape: [n]
tensors:
  - {name: x, role: input,  shape: [n]}
  - {name: y, role: output, shape: [n]}
inputs: [uniform01]
cost: [8*n, n]
reference: reference.cu
templates:
  - name: plain
    source: plain.cu
    tunables: {a: [1, 2, 4, 8], b: [1, 2, 3, 4]}
    constraints: ["a*b <= 16", "n < 1000 or a*b <= 8"]
    launch: {block: [32, 1, 1], grid: ["ceil_div(n, 32)", 1, 1], shared: 0}
    default: {a: 1, b: 1}
`

func toyProblem(t *testing.T) *operator.Problem { return toyProblemOf(t, 64) }

// toyProblemOf is the toy for n elements; 1000 leave a*b > 8 to smaller ones.
func toyProblemOf(t *testing.T, n int64) *operator.Problem {
	return problemFrom(t, "toy", toyOperator, n)
}

// wideToy is the toy with n x n configurations.
func wideToy(n int) string {
	return strings.NewReplacer(
		"{a: [1, 2, 4, 8], b: [1, 2, 3, 4]}", "{a: "+numbers(n)+", b: "+numbers(n)+"}",
		`constraints: ["a*b <= 16", "n < 1000 or a*b <= 8"]`, `constraints: []`,
	).Replace(toyOperator)
}

// problemFrom binds an operator of this op.yaml, whose kernels do nothing, to n
// elements.
func problemFrom(t testing.TB, name, text string, n int64) *operator.Problem {
	t.Helper()
	fsys := fstest.MapFS{
		"op.yaml":      {Data: []byte(text)},
		"reference.cu": {Data: []byte("extern \"C\" __global__ void " + name + "_reference(const float* x, float* y) {}\n")},
		"plain.cu":     {Data: []byte("extern \"C\" __global__ void " + name + "_plain(const float* x, float* y) {}\n")},
		"other.cu":     {Data: []byte("extern \"C\" __global__ void " + name + "_other(const float* x, float* y) {}\n")},
	}
	op, err := operator.Load(fsys, ".")
	if err != nil {
		t.Fatal(err)
	}
	p, err := op.Bind(operator.Request{Shape: []int64{n}}, operator.Limits{
		Arch: 90, SMs: 132, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 232448, SharedPerSM: 233472, RegistersPerSM: 65536, WarpSize: 32,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fakeDevice evaluates configurations by a Go function.
type fakeDevice struct {
	evaluate  func(c space.Configuration) (trial.Outcome, error)
	refuse    func(k operator.Kernel) error // by the compiler
	hangs     func(k operator.Kernel) bool  // likewise
	driver    string
	energy    float64 // of a launch, told when asked for
	openHangs bool    // until the search gives up
	// compiling and opening are how long these take.
	compiling func(k operator.Kernel) time.Duration
	opening   time.Duration
	// check answers for launches beyond the verifying one; nil: all are right.
	check func(c space.Configuration, p *operator.Problem, in device.Inputs, launches int) trial.Outcome

	mu        sync.Mutex
	evaluated []string
	raced     []float64 // what they raced against
	metered   []string
	opened    int
}

func (f *fakeDevice) Info() device.Info {
	return device.Info{Name: "fake", Kind: device.CUDA, Driver: f.driver, Compiler: f.Version()}
}
func (f *fakeDevice) Arch() string               { return "sm_90" }
func (f *fakeDevice) Compiler() compile.Compiler { return f }
func (f *fakeDevice) Close() error               { return nil }
func (f *fakeDevice) Version() string            { return "fake compiler 1" }
func (f *fakeDevice) Workers() int               { return 4 }

func (f *fakeDevice) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	if f.refuse != nil {
		if err := f.refuse(r.Kernel); err != nil {
			return nil, err
		}
	}
	if f.hangs != nil && f.hangs(r.Kernel) {
		<-ctx.Done()
	}
	if f.compiling != nil {
		select {
		case <-time.After(f.compiling(r.Kernel)):
		case <-ctx.Done():
		}
	}
	return &compile.Binary{}, ctx.Err()
}

func (f *fakeDevice) Open(ctx context.Context, p *operator.Problem, _ *compile.Binary, proto device.Protocol) (device.Session, error) {
	if f.openHangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(f.opening)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	return &fakeSession{fakeDevice: f, problem: p, inputs: proto.Inputs()}, nil
}

type fakeSession struct {
	*fakeDevice
	problem *operator.Problem
	inputs  device.Inputs
}

func (f *fakeSession) Check(_ context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	if f.check == nil {
		return trial.Outcome{Status: trial.OK}, max(c.Launches, 1), nil
	}
	return f.check(v.Configuration, f.problem, f.inputs, c.Launches), max(c.Launches, 1), nil
}

func (f *fakeSession) Refill(_ context.Context, in device.Inputs) error {
	f.inputs = in
	return nil
}

func (f *fakeSession) Ceilings() device.Ceilings {
	return device.Ceilings{ReferenceMS: 100, CopyBytesPerMS: 1e9}
}

func (f *fakeSession) Evaluate(_ context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	f.mu.Lock()
	f.evaluated, f.raced = append(f.evaluated, v.Configuration.String()), append(f.raced, best)
	if v.Energy {
		f.metered = append(f.metered, v.Configuration.String())
	}
	f.mu.Unlock()
	o, err := f.evaluate(v.Configuration)
	if v.Energy {
		o.EnergyMJ = f.energy
	}
	return o, err
}

// took is the outcome of a variant that works.
func took(ms float64) trial.Outcome {
	o := trial.Outcome{Status: trial.OK}
	o.SetSamples([]float64{ms, ms, ms}, 1)
	return o
}

// number reads an integer tunable.
func number(c space.Configuration, name string) int64 {
	v, ok := c.Get(name)
	if !ok {
		panic(fmt.Sprintf("no tunable %s in %s", name, c))
	}
	n, _ := v.AsInt()
	return n
}

// numbers lists 1 to n, as op.yaml has it.
func numbers(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(i + 1)
	}
	return "[" + strings.Join(all, ", ") + "]"
}
