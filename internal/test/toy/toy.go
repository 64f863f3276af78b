// Package toy provides operators whose kernels do nothing, and a device that evaluates them by a Go function, for tests
// of the packages that use devices.
package toy

import (
	"context"
	"fmt"
	"regexp"
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

// Limits are the limits of the toy device.
var Limits = operator.Limits{
	Arch: 90, SMs: 132, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 232448, SharedPerSM: 233472, RegistersPerSM: 65536,
	WarpSize: 32, MemoryBytes: 1 << 30,
}

// OpYAML returns the op.yaml of an operator that copies n elements. The operator's only template is called plain, and
// OpYAML adds the given lines to the template's description.
func OpYAML(name string, lines ...string) string {
	return `
operator: ` + name + `
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
    ` + strings.Join(lines, "\n    ") + `
    launch: {block: [32, 1, 1], grid: ["ceil_div(n, 32)", 1, 1], shared: 0}
`
}

var nameForm = regexp.MustCompile(`(?m)^operator: (\w+)`)

// Operator loads the operator that an op.yaml describes.
func Operator(t testing.TB, text string) *operator.Operator {
	t.Helper()
	fsys := fstest.MapFS{"op.yaml": {Data: []byte(text)}}
	for _, kernel := range []string{"reference", "plain", "other"} {
		name := nameForm.FindStringSubmatch(text)[1]
		source := fmt.Sprintf("extern \"C\" __global__ void %s_%s(const float* x, float* y) {}\n", name, kernel)
		fsys[kernel+".cu"] = &fstest.MapFile{Data: []byte(source)}
	}
	op, err := operator.Load(fsys, ".")
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// Problem binds the operator that an op.yaml describes to a shape.
func Problem(t testing.TB, text string, shape ...int64) *operator.Problem {
	t.Helper()
	p, err := Operator(t, text).Bind(operator.Request{Shape: shape}, Limits)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Took returns the outcome of a correct variant that takes ms milliseconds.
func Took(ms float64) trial.Outcome {
	o := trial.Outcome{Status: trial.OK}
	o.SetSamples([]float64{ms, ms, ms}, 1)
	return o
}

// Number returns the value of an integer tunable.
func Number(c space.Configuration, name string) int64 {
	v, ok := c.Get(name)
	if !ok {
		panic(fmt.Sprintf("no tunable %s in %s", name, c))
	}
	n, _ := v.AsInt()
	return n
}

// Numbers lists the numbers from 1 to n in the syntax of op.yaml.
func Numbers(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(i + 1)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// Device is a fake device that evaluates configurations by a Go function. In a Device, either the field Evaluate or the
// field Of must be set; all other fields may be nil.
type Device struct {
	Evaluate  func(c space.Configuration) (trial.Outcome, error)
	Of        func(p *operator.Problem, c space.Configuration) (trial.Outcome, error) // a compiler's error
	Refuse    func(k operator.Kernel) error                                           // by the compiler
	Hangs     func(k operator.Kernel) bool                                            // the compiler hangs
	Compiling func(k operator.Kernel) time.Duration                                   // compile time
	Driver    string
	OpenHangs bool // Open waits until the search gives up
	Opening   time.Duration
	// Check returns the outcome of verifying the launches that follow a variant's first launch. If Check is nil, the
	// toy device reports that all launches are correct.
	Check func(c space.Configuration, p *operator.Problem, in device.Inputs, launches int) trial.Outcome

	mu        sync.Mutex
	Evaluated []string
	Raced     []float64 // the best time that each evaluation raced against
	Opened    int
}

func (d *Device) Info() device.Info {
	return device.Info{Name: "fake", Kind: device.CUDA, Driver: d.Driver, Compiler: d.Version()}
}
func (d *Device) Arch() string               { return "sm_90" }
func (d *Device) Compiler() compile.Compiler { return d }
func (d *Device) Close() error               { return nil }
func (d *Device) Version() string            { return "fake compiler 1" }
func (d *Device) Workers() int               { return 4 }

func (d *Device) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	if d.Refuse != nil {
		if err := d.Refuse(r.Kernel); err != nil {
			return nil, err
		}
	}
	if d.Hangs != nil && d.Hangs(r.Kernel) {
		<-ctx.Done()
	}
	if d.Compiling != nil {
		select {
		case <-time.After(d.Compiling(r.Kernel)):
		case <-ctx.Done():
		}
	}
	return &compile.Binary{}, ctx.Err()
}

func (d *Device) Open(ctx context.Context, p *operator.Problem, _ *compile.Binary, proto device.Protocol) (device.Session, error) {
	if d.OpenHangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(d.Opening)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Opened++
	return &session{d, p, proto.Inputs()}, nil
}

type session struct {
	device  *Device
	problem *operator.Problem
	inputs  device.Inputs
}

func (s *session) Close() error { return nil }

func (s *session) Check(_ context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	if s.device.Check == nil {
		return trial.Outcome{Status: trial.OK}, max(c.Launches, 1), nil
	}
	return s.device.Check(v.Configuration, s.problem, s.inputs, c.Launches), max(c.Launches, 1), nil
}

func (s *session) Refill(_ context.Context, in device.Inputs) error {
	s.inputs = in
	return nil
}

func (s *session) Ceilings() device.Ceilings {
	return device.Ceilings{ReferenceMS: 100, CopyBytesPerMS: 1e9}
}

func (s *session) Evaluate(_ context.Context, v device.Variant, best float64) (o trial.Outcome, err error) {
	d := s.device
	d.mu.Lock()
	d.Evaluated, d.Raced = append(d.Evaluated, v.Configuration.String()), append(d.Raced, best)
	d.mu.Unlock()
	if d.Of != nil {
		o, err = d.Of(s.problem, v.Configuration)
	} else {
		o, err = d.Evaluate(v.Configuration)
	}
	return o, err
}
