package gpu_test

import (
	"testing"

	"autotune/device/compile"
	"autotune/device/gpu"
	"autotune/device/gpu/driver/cuda"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
)

var kernelK = operator.Kernel{Launches: operator.Launches{{Entry: "k"}}}

// The size of a kernel's parameters is read from the binary that NVRTC made.
func TestMismatch(t *testing.T) {
	c, err := compile.NVRTC(t.Context())
	testneeds.NVRTC.Opened(t, err, compile.ErrMissing)
	defer c.Close()
	compiled := func(parameters string) *compile.Binary {
		b, err := c.Compile(t.Context(), compile.Request{Arch: "sm_80", Kernel: operator.Kernel{
			Launches: kernelK.Launches, File: "k.cu", Source: "struct S { int a[5]; };\nstruct alignas(64) M { long long words[16]; };\nextern \"C\" __global__ void k(" + parameters + ") {}\n",
		}})
		must.OK(t, err)
		return b
	}
	two := []operator.Argument{{Role: operator.Input, Type: operator.F32}, {Role: operator.Output, Type: operator.U8}}
	for parameters, want := range map[string]string{
		"const float* x, float* y":                 "",
		"const float* x, const float* b, float* y": "the kernel's parameters take 24 bytes, the operator's 2 arguments 16",
		"float* y":                      "the kernel's parameters take 8 bytes, the operator's 2 arguments 16",
		"const float* x, float* y, S s": "the kernel's parameters take 36 bytes, the operator's 2 arguments 16",
	} {
		if got := gpu.Mismatch(cuda.Driver(), compiled(parameters), kernelK, two); got != want {
			t.Errorf("%s: %q, want %q", parameters, got, want)
		}
	}
	scalars := []operator.Argument{
		{Role: operator.Scalar, Type: operator.Bool}, {Role: operator.Scalar, Type: operator.I16}, {Role: operator.InOut, Type: operator.F16},
		{Role: operator.Scalar, Type: operator.I32}, {Role: operator.Scalar, Type: operator.F64}, {Role: operator.Scalar, Type: operator.I8},
	}
	for parameters, want := range map[string]string{
		"bool a, short b, short* c, int d, double e, signed char f": "",
		"bool a, short b, short* c, int d, double e, int f":         "the kernel's parameters take 36 bytes, the operator's 6 arguments 33",
	} {
		if got := gpu.Mismatch(cuda.Driver(), compiled(parameters), kernelK, scalars); got != want {
			t.Errorf("%s: %q, want %q", parameters, got, want)
		}
	}
	mapped := kernelK
	mapped.Launches = operator.Launches{{Entry: "k", Maps: []operator.TensorMap{{At: 1}}}}
	for parameters, want := range map[string]string{
		"const float* x, const __grid_constant__ M m":      "",
		"const float* x, unsigned char* m":                 "the kernel's parameters take 16 bytes, the operator's 2 arguments 192",
		"const __grid_constant__ M m, const float* x, S s": "the kernel's parameters take 188 bytes, the operator's 2 arguments 192",
	} {
		if got := gpu.Mismatch(cuda.Driver(), compiled(parameters), mapped, two); got != want {
			t.Errorf("%s: %q, want %q", parameters, got, want)
		}
	}
	for _, cut := range []int{0, 10, 64, 400} {
		b := compiled("float* y")
		b.Code = b.Code[:min(cut, len(b.Code))]
		if got := gpu.Mismatch(cuda.Driver(), b, kernelK, two); got != "" {
			t.Errorf("of the first %d bytes: %q", cut, got)
		}
	}
}
