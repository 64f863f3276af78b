package draft

import (
	"fmt"
	"strings"
	"testing"
)

func TestType(t *testing.T) {
	const text = `#if PRECISION == 64
#define REAL double
#elif defined(HALF) && !defined(FULL)
#define REAL half
#else
#define REAL float
#endif
#define REAL2 REAL_2
typedef float4 Point;
using Number = unsigned int;
typedef Point Alias;
`
	for _, c := range []struct {
		name, defined, want string
	}{
		{"REAL", "", "f32 1"}, {"REAL", "#define PRECISION 64\n", "f64 1"}, {"REAL", "#define HALF\n", "f16 1"}, {"REAL2", "", "no"},
		{"Point", "", "f32 4"}, {"Number", "", "u32 1"}, {"Alias", "", "f32 4"}, {"double3", "", "f64 3"}, {"half2", "", "f16 2"}, {"T", "", "no"},
		{"unsigned char", "", "u8 1"}, {"", "", "no"},
	} {
		kind, lanes, ok := SourceOf(c.defined + text).Type(c.name)
		got := fmt.Sprintf("%s %d", kind, lanes)
		if !ok {
			got = "no"
		}
		if got != c.want {
			t.Errorf("%s with %q is %s, want %s", c.name, c.defined, got, c.want)
		}
	}
}

func TestUndefined(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "__global__ void k(float* y, int n) { int i = blockIdx.x * block_size_x + threadIdx.x; if (i < n) y[i] = FACTOR; }", "FACTOR block_size_x"},
		{"of macros", "#define end min(tile * 2, n)\n#define unused OTHER\n__global__ void k(float* y, int n) { for (int i = 0; i < end; ++i) y[i] = 0; }", "tile"},
		{"conditions", "#if use == 1\n#define A B\n#endif\n__global__ void k(float* y) { y[0] = A; }", ""},
		{"declared in all ways", "template <typename T, int N> struct S { T a[N]; };\nenum Kind { first, second = 3 };\nconstexpr int size = 4, more = 5;\n" +
			"__global__ void k(const S<float, 3>* __restrict__ x, float* y, unsigned int n) {\n  __shared__ float tile[size][more]; float a = 1, *b = y, c[2];\n" +
			"  const auto q = (float4*)x; for (unsigned j = 0, m = n; j < m; ++j) b[j] = a + c[0] + tile[0][first] + q[0].x + second; }", ""},
		{"types, members, functions", "__global__ void k(Tensor t, float* y) { Matrix m = make(t); y[0] = m.rows + static_cast<Real>(t->size) + sizeof(Thing) + f(3) + ns::value; }", ""},
		{"constants of CUDA", "__global__ void k(float* y) { y[0] = FLT_MAX + INFINITY + M_PI + warpSize + NULL; }", ""},
		{"pragma", "__global__ void k(float* y) {\n#pragma unroll DEPTH\nfor (int i = 0; i < 4; ++i) y[i] = 0; }", "DEPTH"},
		{"a product is no declaration", "__global__ void k(float* y) { int i = 2; i = i * WIDTH; y[i] = WIDTH; }", "WIDTH"},
		{"passed to macros", "#define STEP(f, x) f(x)\n#define SQUARE(x) ((x) * (x))\n__global__ void k(float* y) { y[0] = STEP(SQUARE, 2.0f); }", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(SourceOf(c.text).Undefined(c.text), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	const kernel = "__global__ void k(float* y) { y[0] = 1; }\n"
	for _, c := range []struct{ name, text, kept, left string }{
		{"nothing to cut", "#include <cuda_fp16.h>\n" + kernel, "#include <cuda_fp16.h>\n" + kernel, ""},
		{"headers", "#include <cuda_runtime.h>\n#include \"near.cuh\"\n#include \"far.cuh\"\n" + kernel, "#include \"near.cuh\"\n" + kernel, `<cuda_runtime.h> "far.cuh"`},
		{"host code", kernel + "int main() { k<<<1, 1>>>(0); }\n", kernel, "main"},
		{"what it needs", "#include <stdio.h>\n#define HALF (N / 2)\nconst int N = 4;\nstruct P { float x; };\nstruct Q { float x; };\n__device__ P f() { return {HALF}; }\n" +
			"__global__ void k(float* y) { y[0] = f().x; }\n", "#define HALF (N / 2)\nconst int N = 4;\nstruct P { float x; };\n__device__ P f() { return {HALF}; }\n" +
			"__global__ void k(float* y) { y[0] = f().x; }\n", "<stdio.h> Q"},
		{"linkage and conditions", "extern \"C\" {\n#ifdef A\nvoid host() {}\n#endif\n" + kernel + "}\n", "extern \"C\" {\n#ifdef A\n#endif\n" + kernel + "}\n", "host"},
		{"operators and templates", "float host;\n__device__ float2 operator+(float2 a, float2 b) { return a; }\ntemplate <int N> __device__ int g() { return N; }\n" +
			"__global__ void k(float* y) { y[0] = g<3>(); }\n", "__device__ float2 operator+(float2 a, float2 b) { return a; }\ntemplate <int N> __device__ int g() { return N; }\n" +
			"__global__ void k(float* y) { y[0] = g<3>(); }\n", "host"},
		{"attributes", "int host() { return 1; }\n__global__ __attribute__((hint(float))) void __launch_bounds__(32, 2) k(float* y) {}\n",
			"__global__ __attribute__((hint(float))) void __launch_bounds__(32, 2) k(float* y) {}\n", "host"},
		{"other kernels", "__global__ void j(int* x) {}\n" + kernel, kernel, "j"},
		{"qualifiers of macros", "#define DEV __device__ inline\nint host() { return 1; }\nDEV float f() { return 1; }\n__global__ void k(float* y) { y[0] = f(); }\n",
			"#define DEV __device__ inline\nDEV float f() { return 1; }\n__global__ void k(float* y) { y[0] = f(); }\n", "host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept, left, err := Cut(c.text, "k", func(name string) bool { return name == "near.cuh" })
			if squeezed(kept) != squeezed(c.kept) || strings.Join(left, " ") != c.left || err != nil {
				t.Errorf("%v, left %q, want %q; kept\n%s\nwant\n%s", err, left, c.left, kept, c.kept)
			}
		})
	}
	for _, text := range []string{"#include <stdio.h>\n__global__ void k(float* y) { y[0] = cub::f(); }", "#include <vector>\n__global__ void k(float* y) { y[0] = std::max(1, 2); }"} {
		if _, _, err := Cut(text, "k", func(string) bool { return false }); err == nil || !strings.Contains(err.Error(), "of a header that kernels cannot include") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

// FuzzCut checks that cutting any file and searching it for undefined names end, and that no file becomes longer.
func FuzzCut(f *testing.F) {
	f.Add("#include <a>\n#define B C\nstruct S { int x; };\nint main() {}\nextern \"C\" {\ntemplate <int N> __global__ void k(S* y) { y[0].x = N * D; }\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		kept, _, err := Cut(text, "k", func(string) bool { return true })
		if err == nil && len(kept) > len(text) {
			t.Fatal("it became longer")
		}
		s := SourceOf(text)
		s.Undefined(text)
		s.Type("S")
	})
}
