package gputest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"autotune/device"
	"autotune/device/emulator"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/final"
)

// plantedOperator computes the maximum of each element and its predecessor in memory.
const plantedOperator = `operator: planted
summary: the maximum of an element and the one before it
shape: [n]
tensors:
  - {name: x, role: input, shape: [n]}
  - {name: y, role: output, shape: [n]}
inputs: [uniform01, normal, negative, special]
cost: [8*n, n]
reference: reference.cu
templates:
`

// fault is a kernel with a planted fault: it is fast, and its first launch on the inputs of the search is correct.
type fault struct {
	name string
	// body is the kernel's code for element i of the calling thread, where i < N; larger(a, b) is a maximum that keeps
	// a NaN.
	body string
	gate string // where it fails; "": at its first launch
	// hidden says that a GPU's usual execution order hides the fault.
	hidden bool
}

var faults = []fault{
	{"negatives", `float m = x[i]; if (i > 0 && x[i - 1] > m) m = x[i - 1]; y[i] = m != m ? m : fmaxf(m, 0.0f);`, "inputs normal", false},
	{"nans", `y[i] = i > 0 ? fmaxf(x[i], x[i - 1]) : x[i];`, "inputs special", false},
	{"one_in_ten", `LAUNCH y[i] = LAST && launches % 10 == 9 ? 0.0f : RIGHT;`, "launches", false},
	{"one_in_fifty", `LAUNCH y[i] = LAST && launches % 50 == 49 ? 0.0f : RIGHT;`, "launches", false},
	{"race", `__shared__ float s[64]; s[threadIdx.x] = x[i];
y[i] = threadIdx.x > 0 ? larger(s[threadIdx.x], s[threadIdx.x - 1]) : RIGHT;`, "launches", true},
	{"before", `if (y[i] != y[i]) y[i] = RIGHT;`, "launches", false},
	{"past_the_end", `float m = RIGHT; y[i] = i + 1 == N && x[i + 1] > m ? x[i + 1] : m;`, "launches", false},
	{"aligned", `if (i % 4 == 0 && i + 4 <= N)
  for (long long j = i; j < i + 4; ++j) y[j] = j > 0 ? larger(x[j], x[j - 1]) : x[j];`, "neighbour", false},
	{"shared", `volatile __shared__ float s[64]; if (x[i] > 3.0f) s[threadIdx.x] = 0.0f;
y[i] = RIGHT + s[threadIdx.x];`, "", false},
}

func plantedKernel(name, body string) string {
	body = strings.NewReplacer(
		"RIGHT", "(i > 0 ? larger(x[i], x[i - 1]) : x[i])",
		"LAUNCH", "if (i + 1 == N) atomicAdd(&launches, 1);",
		"LAST", "(i + 1 == N)",
	).Replace(body)
	return `#ifndef N
#define N 4096
#endif
__device__ int launches;
__device__ float larger(float a, float b) { return a != a || a > b ? a : b; }
extern "C" __global__ void planted_` + name + `(const float* __restrict__ x, float* __restrict__ y) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    ` + body + `
}
`
}

func plantedProblem(t *testing.T, limits operator.Limits) *operator.Problem {
	t.Helper()
	files, yaml := fstest.MapFS{}, plantedOperator
	add := func(name, body string) {
		files[name+".cu"] = &fstest.MapFile{Data: []byte(plantedKernel(name, body))}
	}
	add("reference", "y[i] = RIGHT;")
	for _, f := range append([]fault{{name: "right", body: "y[i] = RIGHT;"}}, faults...) {
		add(f.name, f.body)
		yaml += fmt.Sprintf("  - name: %s\n    source: %[1]s.cu\n    tunables: {block_x: [64]}\n"+
			"    launch: {block: [block_x, 1, 1], grid: [\"ceil_div(n, block_x)\", 1, 1], shared: 0}\n    default: {block_x: 64}\n", f.name)
	}
	files["op.yaml"] = &fstest.MapFile{Data: []byte(yaml)}
	o, err := operator.Load(files, ".")
	must.OK(t, err)
	p, err := o.Bind(operator.Request{Shape: []int64{4096}}, limits)
	must.OK(t, err)
	return p
}

// plantedFaults searches an operator that has kernels with planted faults. Each kernel with a planted fault must fail
// at the correctness gate that is meant to find this fault, so that only the correct kernel is left.
func plantedFaults(t *testing.T, d device.Device, hidden bool) {
	begin := time.Now()
	r, err := tuner.Search(t.Context(), plantedProblem(t, d.Info().Limits), d, tuner.Options{Gating: final.GateAll})
	if err != nil && !errors.Is(err, tuner.ErrNoVariant) {
		t.Fatal(err)
	}
	t.Logf("%.1f s for all of them, gates included", time.Since(begin).Seconds())
	for _, f := range faults {
		i := slices.IndexFunc(r.Trials, func(t trial.Trial) bool { return t.Template == f.name })
		if i < 0 {
			t.Fatalf("%s was not tried", f.name)
		}
		o := r.Trials[i].Outcome
		// Log a row for the table in docs/reliability.md.
		t.Logf("| %s | %s | %s | %.2f |", f.name, o.Status, o.Reason(), (o.Phases.CompileMS+o.Phases.VerifyMS+o.Phases.MeasureMS)/1000)
		if f.hidden && hidden {
			continue
		}
		if at := strings.HasPrefix(o.Message, "gate "+f.gate); o.Status != trial.WrongResult || f.gate != "" && !at {
			t.Errorf("%s ended as %s %q; want a wrong result at the gate %s", f.name, o.Status, o.Message, f.gate)
		}
	}
	if i := slices.IndexFunc(r.Trials, func(t trial.Trial) bool { return t.Template == "right" }); r.Trials[i].Status != trial.OK {
		t.Errorf("the right kernel ended as %s: %s", r.Trials[i].Status, r.Trials[i].Message)
	}
}

func TestPlantedFaultsOnTheEmulator(t *testing.T) {
	testneeds.Nothing(t)
	d, err := emulator.Open(emulator.Options{CacheDir: testcache.Dir()})
	testneeds.CXX.Opened(t, err, emulator.ErrNoCompiler)
	defer d.Close()
	plantedFaults(t, d, false)
}
