package gpu_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/gpu"
	"autotune/device/gpu/driver/cuda"
	"autotune/device/verify"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/internal/test/testoperators"
	"autotune/operator"
)

// compiling returns NVRTC and the limits of a GPU to compile for.
func compiling(t *testing.T) (compile.Compiler, operator.Limits) {
	t.Helper()
	compiler, err := compile.NVRTC(t.Context(), compile.LineInfo)
	testneeds.NVRTC.Opened(t, err, compile.ErrMissing)
	t.Cleanup(func() { compiler.Close() })
	limits := operator.Limits{Arch: 90, Target: compile.Target(compiler.Version(), 90), MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 232448}
	return compile.Cached(testcache.Dir(), compiler), limits
}

// The device's own kernels and those of its tests compile with NVRTC.
func TestKernelsCompile(t *testing.T) {
	compiler, limits := compiling(t)
	var kernels []operator.Kernel
	problems := map[string]*operator.Problem{}
	for name, modes := range map[string]int64{"affine": 12, "mixed": 8, "steps": 8} {
		p := testoperators.Problem(t, name, 1000, limits)
		problems[name] = p
		reference, err := p.Reference()
		must.OK(t, err)
		kernels = append(kernels, reference)
		for mode := range modes {
			kernels = append(kernels, testoperators.Variant(t, p, mode).Kernel)
		}
	}
	own := testoperators.Own(t, 1000, limits)
	problems[own.Operator.Name] = own
	for mode := range int64(4) {
		kernels = append(kernels, testoperators.Variant(t, own, mode).Kernel)
	}
	for _, k := range slices.Concat(gpu.Kernels([]operator.Argument{{Type: operator.F64}}), endurance.Some(kernels, 9)) {
		b, err := compiler.Compile(t.Context(), compile.Request{Kernel: k, Arch: "sm_90"})
		if err != nil {
			t.Errorf("%s: %v", k.File, err)
			continue
		}
		if k.Operator == "device" {
			continue
		}
		p := problems[k.Operator]
		if wrong := gpu.Mismatch(cuda.Driver(), b, k, p.Arguments); wrong != "" && k.Operator != "affine" {
			t.Errorf("%s, %v: %s", k.File, k.Macros, wrong)
		}
		for _, l := range k.Launches {
			if _, known := cuda.Driver().ParameterBytes(b.Code, b.Symbol(l.Entry)); !known {
				t.Errorf("%s: the code has no %s, which is %s there", k.File, l.Entry, b.Symbol(l.Entry))
			}
		}
	}
}

// An operator's own kernels must compile, and their parameters must match the arguments that they are launched with.
func TestOwnKernels(t *testing.T) {
	compiler, limits := compiling(t)
	for want, edits := range map[string][]string{
		"": {testoperators.OwnReference, testoperators.OwnComparison},
		"the fill kernel of own cannot be launched: fill.cu: the kernel's parameters take ":   {"float scale, unsigned int seed", "float scale, int more, unsigned int seed"},
		"the comparison of own does not compile: compare.cu:":                                 {testoperators.OwnReference, testoperators.OwnComparison, "double apart", "nothing apart"},
		"the comparison of own cannot be launched: compare.cu: the kernel's parameters take ": {testoperators.OwnReference, testoperators.OwnComparison, "const long long* before, ", "", "before[i]", "0"},
	} {
		p := testoperators.Own(t, 1000, limits, edits...)
		parts, err := verify.Compile(t.Context(), compiler, limits.Target, p)
		if err == nil {
			err = gpu.CheckParts(cuda.Driver(), parts, p.Arguments)
		}
		var failed *device.ReferenceError
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && (!errors.As(err, &failed) || !strings.Contains(got, want)) {
			t.Errorf("%v; want %q", err, want)
		}
		if want == "" && (len(parts.Fillings) != 1 || parts.Comparison == nil) {
			t.Errorf("%+v", parts)
		}
	}
}
