package export

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
)

// every makes the winner of an operator that has tensors of every role, scalars, constant memory and several launches.
func every(t *testing.T) cudasource.Winner {
	t.Helper()
	const kernels = `
__constant__ float table[4];
extern "C" __global__ void every_first(const float* kernel, double scale, bool up, long long count, const int* int_, unsigned char* mask, long long* sums, double* space) {}
extern "C" __global__ void every_then(double* space, long long* sums) {}
extern "C" __global__ void every_reference(const float* kernel, double scale, bool up, long long count, const int* int_, unsigned char* mask, long long* sums, double* space) {}
`
	o, err := operator.Load(fstest.MapFS{"every/k.cu": {Data: []byte(kernels)}, "every/op.yaml": {Data: []byte(`
operator: every
summary: every role
shape: [n]
parameters:
  mode: {type: word, choices: [add, mul], default: mul}
tensors:
  - {name: kernel, role: input, shape: [n]}
  - {name: scale, type: f64, value: 0.5}
  - {name: up, type: bool, value: "n > 1"}
  - {name: count, type: i64, value: n}
  - {name: int, role: input, type: i32, shape: [n]}
  - {name: mask, role: output, type: u8, shape: [n, 2]}
  - {name: sums, role: inout, type: i64, shape: [n]}
  - {name: space, role: workspace, type: f64, shape: [n]}
  - {name: table, role: constant, shape: [4]}
cost: [30*n]
reference: k.cu
templates:
  - name: k
    source: k.cu
    flags: [--use_fast_math]
    tunables: {threads: [64]}
    launch:
      - {entry: every_first, block: [threads, 1, 1], grid: ["ceil_div(n, threads)", 1, 1], shared: 100000}
      - {entry: every_then, block: [threads, 1, 1], grid: [4, 1, 1], cluster: [2, 1, 1], dependent: true, arguments: [space, sums]}
    default: {threads: 64}
`)}}, "every")
	must.OK(t, err)
	p, err := o.Bind(operator.Request{Shape: []int64{1000}}, operator.TypicalLimits())
	must.OK(t, err)
	best := bestconfig.Document{
		Operator: o.Name, Configuration: p.Defaults(t.Context())[0], Problem: p.Record(), Target: p.Limits.Target,
		Device: device.Info{Name: "NVIDIA H100", Kind: device.CUDA}, Time: trial.Timing{Median: 2}, RecordedAt: time.Unix(1e9, 0),
	}
	w, err := cudasource.Of(best, o, p.Limits, "autotune test")
	must.OK(t, err)
	return w
}

// A solution must match the models of both benchmarks, and its function must take inputs before outputs.
func TestSolutions(t *testing.T) {
	w := every(t)
	var out bytes.Buffer
	notes, err := writeSolution(t.Context(), &out, w)
	if err != nil || len(notes) == 0 || !strings.Contains(notes[0], "write the name of the definition") {
		t.Fatal(err, notes)
	}
	var d struct {
		Definition string
		Sources    []struct{ Content string }
	}
	if err := json.Unmarshal(out.Bytes(), &d); err != nil || d.Definition != "every" || len(d.Sources) != 1 {
		t.Fatalf("%v, %+v", err, d)
	}
	var document map[string]any
	must.OK(t, json.Unmarshal(out.Bytes(), &document))
	for name, model := range solutionModels {
		if err := model.takes(document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, want := range []string{
		"void run(torch::Tensor in_kernel, torch::Tensor in_int, torch::Tensor in_sums, torch::Tensor in_table, torch::Tensor out_mask, torch::Tensor out_sums) {",
		`take(out_mask, "mask", at::kByte, {1000, 2}, {0, 1});`, "out_sums.copy_(in_sums);", "torch::empty({8000}, options.dtype(at::kByte))",
		"static_cast<double>(0.5), true, static_cast<long long>(1000ll)", "launch_every(", "PYBIND11_MODULE",
	} {
		if !strings.Contains(d.Sources[0].Content, want) {
			t.Errorf("there is no %s in\n%s", want, d.Sources[0].Content)
		}
	}
}

func TestLiteral(t *testing.T) {
	for _, a := range every(t).Arguments() {
		if a.Role != operator.Scalar {
			continue
		}
		want := map[string]string{"scale": "static_cast<double>(0.5)", "up": "true", "count": "static_cast<long long>(1000ll)"}[a.Name]
		if got := cudasource.Literal(a); !strings.Contains(got, want) {
			t.Errorf("%s is %s, want %s", a.Name, got, want)
		}
	}
}
