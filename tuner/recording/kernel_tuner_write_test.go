package recording

import (
	"bytes"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// small is an operator of one template with tunables of every kind.
func small(t *testing.T) *operator.Problem {
	t.Helper()
	o, err := operator.Load(fstest.MapFS{"op.yaml": {Data: []byte(`
operator: small
summary: tunables of every kind
shape: [n, m]
tensors:
  - {name: y, role: output, shape: [n]}
cost: {bytes: n}
reference: {template: k}
templates:
  - name: k
    source: k.cu
    tunables: {threads: [32, 64], up: [true, false], share: [0.5, 1], mode: [fast, slow]}
    launch: {block: [threads, 1, 1], grid: [1, 1, 1]}
    default: {threads: 32, up: true, share: 0.5, mode: fast}
`)}, "k.cu": {Data: []byte("__global__ void small_k(float* y) {}\n")}}, ".")
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.Bind(operator.Request{Shape: []int64{7, 9}}, operator.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What goes out as a cache of Kernel Tuner comes back with the same configurations,
// times and samples; of failures only that they are some.
func TestKernelTunerRoundTrip(t *testing.T) {
	p := small(t)
	template := p.Operator.Templates[0]
	var trials []trial.Trial
	for i, status := range []trial.Status{trial.OK, trial.CompileError, trial.OK, trial.WrongResult, trial.Pruned, trial.Timeout, trial.Crashed, trial.LaunchError} {
		x := trial.Trial{Configuration: space.Configuration{Template: "k", Values: space.Values{
			{Name: "threads", Value: expr.Int(32 << (i & 1))}, {Name: "up", Value: expr.Bool(i&2 == 0)},
			{Name: "share", Value: []expr.Value{expr.Float(0.5), expr.Float(1)}[i>>2&1]}, {Name: "mode", Value: expr.String("slow")},
		}}, Outcome: trial.Outcome{Status: status, Phases: trial.Phases{CompileMS: 1.25, VerifyMS: 2, MeasureMS: 3}}, At: recordedAt.Add(time.Duration(i) * time.Second)}
		if status == trial.OK {
			x.SetSamples([]float64{0.123456789 + float64(i), 0.25, 7}, 1)
		}
		trials = append(trials, x)
	}
	var out bytes.Buffer
	if err := WriteKernelTuner(&out, p, template, "Some GPU", trials); err != nil {
		t.Fatal(err)
	}
	r, err := ReadAny(&out)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Untaken) > 0 || !slices.Equal(r.Metadata.Problem.Shape, p.Shape) {
		t.Errorf("untaken %q, shape %v", r.Untaken, r.Metadata.Problem.Shape)
	}
	if err := r.Adopt(p.Record(), p.Operator, template, operator.Limits{}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if len(r.Trials) != len(trials) || r.Metadata.Device.Name != "Some GPU" {
		t.Fatalf("%d trials on %s", len(r.Trials), r.Metadata.Device.Name)
	}
	for i, x := range r.Trials {
		was := trials[i]
		failed := map[trial.Status]trial.Status{trial.WrongResult: trial.LaunchError, trial.Crashed: trial.LaunchError, trial.Timeout: trial.LaunchError}
		if want, ok := failed[was.Status]; ok {
			was.Status = want
		}
		if x.Configuration.String() != was.Configuration.String() || x.Status != was.Status || x.Time.Median != was.Time.Median ||
			!slices.Equal(x.SamplesMS, was.SamplesMS) || x.Phases != was.Phases || !x.At.Equal(was.At) {
			t.Errorf("%d: got %+v\nwant %+v", i, x, was)
		}
	}
	if _, err := decode(bytes.NewReader(encoded(t, *r, false))); err != nil {
		t.Error(err)
	}
}

func TestAdoptRefuses(t *testing.T) {
	p := small(t)
	r := &Recording{Trials: []trial.Trial{{Configuration: space.Configuration{Values: space.Values{{Name: "threads", Value: expr.Int(32)}}}}}}
	if err := r.Adopt(p.Record(), p.Operator, p.Operator.Templates[0], operator.Limits{}, time.Time{}); err == nil || err.Error() != "it does not tell the tunable up of template k; it tells threads=32" {
		t.Errorf("got %v", err)
	}
	if err := (&Recording{}).Adopt(p.Record(), nil, nil, operator.Limits{}, time.Time{}); err == nil {
		t.Error("nothing was adopted")
	}
}
