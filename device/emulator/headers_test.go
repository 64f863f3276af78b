package emulator

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
)

// commonHeaders lists headers that people include in kernels out of habit.
var commonHeaders = []string{
	"cmath", "algorithm", "cstdint", "limits", "cstdio", "cassert", "math.h", "stdint.h", "stdio.h", "assert.h", "float.h", "limits.h",
	"cfloat", "climits", "cstddef", "cstdlib", "cstring", "ctime", "type_traits", "utility", "array", "tuple", "functional", "numeric",
	"iterator", "complex", "atomic",
}

// headerKernel uses CUDA's intrinsics together with functions of the C++ library.
const headerKernel = `
extern "C" __global__ void __launch_bounds__(64) k(const float* __restrict__ x, float* __restrict__ y) {
	__shared__ float s[8];
	const int i = threadIdx.x;
	if (i < 8) s[i] = x[i];
	__syncthreads();
	if (i != 0) return;
	y[0] = __cosf(s[0]) + cosf(0.0f) + cos(s[0]);
	y[1] = __expf(s[0]) + exp(s[0]) + exp2f(s[1]);
	y[2] = fmaxf(s[2], __int_as_float(0x7fffffff)) + fminf(s[3], s[4]) + max(1, 2) + min(3.0f, 4.0f) + min(5ll, 6ll);
	y[3] = abs(-s[3]) + fabs(-s[3]) + abs(-4) + fabsf(-1.0f) + llabs(-2ll);
	y[4] = isnan(s[4]) + isinf(s[4]) + isfinite(s[4]) + signbit(-s[4]);
	y[5] = __fdividef(s[6], 2.0f) + rsqrtf(4.0f) + rsqrt(4.0) + rsqrt(4.0f) + powf(2.0f, 3.0f) + pow(2.0f, 2.0f) + sqrt(s[4]) + exp10f(0.0f);
	y[6] = __popc(7u) + __clz(1) + __ldg(x + 1) + fma(s[2], s[3], s[4]) + fmod(s[7], 4.0f) + floor(s[1] + 0.5f) + ldexp(s[1], 2);
	y[7] = atomicAdd(y + 8, 1.0f) + (clock() < 0) + __frcp_rn(s[2]) + __logf(s[1]) + __sinf(s[0]) + __powf(s[2], s[1]);
	assert(i == 0);
}
`

func headerAnswers() []float32 {
	return []float32{3, 4, 2 + 3 + 2 + 3 + 5, 3 + 3 + 4 + 1 + 2, 2, 3 + 1.5 + 8 + 4 + 2 + 1, 3 + 31 + 1 + 10 + 3 + 1 + 4, 0.5 + 2}
}

// The C++ library's headers and CUDA's keywords compile together, whichever comes first.
func TestStandardHeaders(t *testing.T) {
	var all strings.Builder
	for _, name := range commonHeaders {
		fmt.Fprintf(&all, "#include <%s>\n", name)
	}
	sources := map[string]string{
		"before": all.String() + headerKernel,
		"after":  headerKernel + all.String(),
		"used": all.String() + `using std::sqrt; using std::min;
static __device__ float largest() { return std::numeric_limits<float>::infinity() > std::max(1.0f, 2.0f) ? std::fmax(0.0f, 0.0f) : 1.0f; }
` + strings.Replace(headerKernel, "= __cosf(s[0])", "= largest() + std::min(0, 1) + std::abs(-0.0f) + __cosf(s[0])", 1),
		"commented": "// #include <no_such_header>\n/*\n#include <no_such_header>\n*/\n" + headerKernel,
	}
	for _, name := range endurance.Some([]string{"cmath", "math.h", "ctime", "cassert"}, 1) {
		sources[name] = "#include <" + name + ">\n" + headerKernel
	}
	for name, source := range sources {
		for _, sanitize := range []bool{false, true} {
			if sanitize && name != "before" || !endurance.Full() && name == "after" {
				continue
			}
			t.Run(fmt.Sprintf("%s/sanitize=%v", name, sanitize), func(t *testing.T) {
				t.Parallel()
				k := tinyKernel(t, headerKernel)
				k.Source = source
				got, err := runTiny(t.Context(), mustCompile(t, k, sanitize), threads(1, 64), counting(8), 9)
				must.OK(t, err)
				for i, want := range headerAnswers() {
					if math.Abs(float64(got[i]-want)) > 1e-5 && i != 7 {
						t.Errorf("y[%d] is %v, not %v", i, got[i], want)
					}
				}
			})
		}
	}
}

// A failed assertion of <cassert> is reported in the same form as the emulator's own assertions.
func TestStandardAssert(t *testing.T) {
	k := tinyKernel(t, headerKernel)
	k.Source = "#include <cassert>\n" + strings.Replace(headerKernel, "assert(i == 0)", "assert(i == 1)", 1)
	_, err := runTiny(t.Context(), mustCompile(t, k, false), threads(1, 64), counting(8), 9)
	if err == nil || !strings.Contains(err.Error(), "crashed: test/k.cu:17: assertion failed: i == 1, block (0,0,0), thread (0,0,0)") {
		t.Error(err)
	}
}

// A reference that never ends, fails or gives unusable outputs is reported as the operator's fault, within the time
// limit of a launch.
func TestBadReference(t *testing.T) {
	needCompiler(t)
	d, err := Open(Options{CacheDir: testCache})
	must.OK(t, err)
	t.Cleanup(func() { d.Close() })
	const limit = 500 * time.Millisecond
	right := doublingKernel("right", doublingBodies["right"])
	for _, c := range []struct {
		name, body   string
		distribution string
		message      string // a regular expression; "": the reference is right
	}{
		{"loops", doublingBodies["endless"], "uniform01", `^the reference of doubling ends as timeout: no block of the launch ended within 500 ms$`},
		{"loops in one block", `y[i] = 2.0f * x[i]; if (i == 256) for (;;) y[i] += *(volatile const float*)x;`, "uniform01", `timeout: no block of the launch ended`},
		{"crashes", doublingBodies["wild"], "uniform01", `^the reference of doubling ends as crashed: illegal address`},
		{"deadlock", doublingBodies["deadlock"], "uniform01", `ends as timeout: deadlock: block`},
		{"writes an input", doublingBodies["scribble"], "uniform01", `ends as wrong_result: wrote to x, which is an input`},
		{"forks", `for (;;) fork();`, "uniform01", `called the operating system|started a process|no block`},
		{"not all written", doublingBodies["lazy"], "uniform01", `^the reference of doubling leaves 1 of 20480 elements of y unwritten, the first at \[3\]$`},
		{"NaN everywhere", `y[i] = 0.0f / (x[i] * 0.0f);`, "normal", `^the reference of doubling gives NaN everywhere, on normal inputs, which hold none$`},
		{"NaN where it may be", `y[i] = i ? x[i] * 2.0f : 0.0f / (x[i] * 0.0f);`, "normal", ""},
		{"slow", `if (threadIdx.x == 0) usleep(50000); y[i] = x[i];`, "uniform01", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := bindDoubling(t, doublingOf(t, systemCalls+doublingKernel("reference", c.body), map[string]string{"right": right}), 20480)
			proto := device.DefaultProtocol()
			proto.Distribution, proto.LaunchTimeout = c.distribution, limit
			began := time.Now()
			err := (&bench{problem: p, device: d}).open(t, proto)
			var failed *device.ReferenceError
			switch {
			case c.message == "":
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &failed) || !regexp.MustCompile(c.message).MatchString(err.Error()):
				t.Errorf("%v; want a ReferenceError, %s", err, c.message)
			}
			t.Logf("%v: %v", time.Since(began).Round(time.Millisecond), err)
		})
	}
}

// productsKernel is a kernel that multiplies matrices of ones with 16 products per sum. When the barrier `given` opens,
// another warp overwrites the matrices of ones with zeros, so that a product read too late is wrong.
func productsKernel(body string) string {
	return `#include "async_proxy.cuh"
		#include "fp16.cuh"
		#include "mbarrier.cuh"
		#include "wgmma.cuh"
		extern "C" __global__ void k(const float*, float* y) {
			__shared__ __align__(128) unsigned ones[512];
			__shared__ Mbarrier given;
			for (int i = threadIdx.x; i < 512; i += blockDim.x) ones[i] = pack_fp16x2(1.0f, 1.0f);
			if (threadIdx.x == 0) mbarrier_init(&given, 128);
			publish_to_async_proxy();
			__syncthreads();
			if (threadIdx.x >= 128) {
				mbarrier_wait(&given, 0);
				for (int i = threadIdx.x - 128; i < 512; i += 32) ones[i] = 0;
				return;
			}
			const unsigned one = pack_fp16x2(1.0f, 1.0f), a[4] = {one, one, one, one};
			float d[32] = {};
			const auto multiply = [&] {
				wgmma_fence();
				wgmma<wgmma_of_fp16, 64>(d, a, Slabs{reinterpret_cast<const char*>(ones), 1024});
				wgmma_commit();
			};
			` + body + `
			y[threadIdx.x] = d[0] + d[31];
		}`
}

// Asynchronous matrix products read shared memory, and their sums arrive, only when the kernel waits for them.
func TestProductsEndLate(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       float32
	}{
		{"given back in time", "multiply(); wgmma_wait(d); mbarrier_arrive(&given);", 32},
		{"given back early", "multiply(); mbarrier_arrive(&given); wgmma_wait(d);", 0},
		{"a product left under way", "multiply(); multiply(); wgmma_wait<1>(d); const float had = d[0]; wgmma_wait(d); d[0] = had; mbarrier_arrive(&given);", 16 + 32},
		{"given back while one is under way", "multiply(); multiply(); wgmma_wait_groups<1>(); mbarrier_arrive(&given); wgmma_wait(d);", 32},
		{"no wait", "multiply(); mbarrier_arrive(&given);", 0},
		{"no commit", "wgmma<wgmma_of_fp16, 64>(d, a, Slabs{reinterpret_cast<const char*>(ones), 1024}); wgmma_wait(d); mbarrier_arrive(&given);", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := runTiny(t.Context(), mustCompile(t, tinyKernel(t, productsKernel(c.body)), false), threads(1, 160), counting(1), 128)
			must.OK(t, err)
			for i, v := range got {
				if v != c.want {
					t.Fatalf("element %d is %v, not %v", i, v, c.want)
				}
			}
		})
	}
}
