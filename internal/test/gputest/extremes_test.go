package gputest

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
)

// proveExtremes tests the defaults of operators on extreme inputs, which a search tries only at its final gates.
// proveExtremes tests each operator on one row of the operator's table of problems.
func proveExtremes(t *testing.T, v *prover, row int, of func(name string) bool) {
	v.inputs = (*operator.Operator).Extremes
	for _, o := range operators(t) {
		if !of(o.Name) || len(o.Extremes()) == 0 {
			continue
		}
		p, err := bind(o, casesOf(o)[row], o.MathModes[0], v.device.Info().Limits)
		must.OK(t, err)
		v.proveAlone(t, p.Whole())
	}
	t.Log("\n" + v.tally.String())
}

// On the emulator, only operators that divide, compare or add squares are tested on extreme inputs. On a GPU, all
// operators are tested on extreme inputs.
func TestExtremes(t *testing.T) {
	testneeds.Nothing(t)
	few := []string{"argmax", "max", "norm", "normalize", "rms_norm", "layer_norm", "softmax", "elementwise"}
	v := &prover{device: openEmulator(t, emulator.Options{})}
	proveExtremes(t, v, 4, func(name string) bool { return slices.Contains(few, name) })
}

// Extreme inputs show that a norm without its epsilon, or a kernel that fails for zeros, is wrong. Usual inputs do not.
func TestExtremesFindFaults(t *testing.T) {
	testneeds.Nothing(t)
	d := openEmulator(t, emulator.Options{})
	for name, want := range map[string]map[string]bool{
		"epsilon": {"zeros": false, "equal": true, "repeated": true, "tiny": false, "large": true, "normal": true, "uniform01": true},
		"zero":    {"zeros": false, "equal": true, "repeated": false, "tiny": true, "large": true, "normal": true},
		"ties":    {"equal": false, "repeated": false, "normal": true, "uniform01": true},
	} {
		for distribution, right := range want {
			proveFault(t, d, name, distribution, right)
		}
	}
}

// faultyRows is an operator whose templates are wrong on some inputs. The outputs of faultyRows are each element
// divided by the root of its row's mean square, the element's sign, and the position of the row's largest element.
const faultyRows = `operator: faulty
summary: a row over the root of its mean square, the signs of its elements, and where its largest is
shape: [rows]
tensors:
  - {name: x, role: input, shape: [rows, 32]}
  - {name: y, role: output, shape: [rows, 32]}
  - {name: sign, role: output, shape: [rows, 32]}
  - {name: at, role: output, type: i32, shape: [rows]}
inputs: [normal, uniform01]
cost: [12*32*rows]
reference: reference.cu
templates:
`

// faultyKernel returns a kernel of faultyRows, in which epsilon is added to the mean square, zero is the sign of 0, and
// larger is the comparison of two elements.
func faultyKernel(name, epsilon, zero, larger string) string {
	return strings.NewReplacer("NAME", name, "EPSILON", epsilon, "ZERO", zero, "LARGER", larger).Replace(`#ifndef ROWS
#define ROWS 64
#endif
extern "C" __global__ void faulty_NAME(const float* __restrict__ x, float* __restrict__ y, float* __restrict__ sign, int* __restrict__ at) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= ROWS) return;
    float squares = 0.0f;
    int best = 0;
    for (int i = 0; i < 32; ++i) {
        float v = x[row * 32 + i];
        squares += v * v;
        if (v LARGER x[row * 32 + best]) best = i;
        sign[row * 32 + i] = v > 0.0f ? 1.0f : v < 0.0f ? -1.0f : ZERO;
    }
    for (int i = 0; i < 32; ++i) y[row * 32 + i] = x[row * 32 + i] * rsqrtf(squares / 32.0f EPSILON);
    at[row] = best;
}
`)
}

// proveFault checks whether a distribution of inputs shows that a faulty template is wrong.
func proveFault(t *testing.T, d device.Device, name, distribution string, right bool) {
	t.Helper()
	files, yaml := fstest.MapFS{}, faultyRows
	for kernel, parts := range map[string][3]string{
		"reference": {"+ 1e-5f", "0.0f", ">"}, "epsilon": {"", "0.0f", ">"}, "zero": {"+ 1e-5f", "1.0f", ">"}, "ties": {"+ 1e-5f", "0.0f", ">="},
	} {
		files[kernel+".cu"] = &fstest.MapFile{Data: []byte(faultyKernel(kernel, parts[0], parts[1], parts[2]))}
	}
	files["op.yaml"] = &fstest.MapFile{Data: []byte(yaml + "  - {name: " + name + ", source: " + name + ".cu, launch: {block: [32, 1, 1], grid: [\"ceil_div(rows, 32)\", 1, 1]}}\n")}
	o, err := operator.Load(files, ".")
	must.OK(t, err)
	p, err := o.Bind(operator.Request{Shape: []int64{64}}, d.Info().Limits)
	must.OK(t, err)
	reference, err := device.CompileReference(t.Context(), d, p, 0)
	must.OK(t, err)
	s, err := d.Open(t.Context(), p, reference, protocol(distribution))
	must.OK(t, err)
	defer s.Close()
	v := device.Variant{Configuration: p.Defaults(t.Context())[0]}
	if v.Kernel, err = p.Kernel(v.Configuration); err != nil {
		t.Fatal(err)
	}
	if v.Binary, err = d.Compiler().Compile(t.Context(), compile.Request{Kernel: v.Kernel, Arch: d.Arch()}); err != nil {
		t.Fatal(err)
	}
	outcome, err := s.Evaluate(t.Context(), v, 0)
	if err != nil || (outcome.Status == trial.OK) != right {
		t.Errorf("%s on %s: %s %q, %v", name, distribution, outcome.Status, outcome.Message, err)
	}
}
