package draft

import (
	"regexp"
	"strings"
	"testing"
)

// What a kernel's text tells of its tensors' sizes and contents, and of its blocks.
func TestGuesses(t *testing.T) {
	for _, c := range []struct {
		name, text string
		wants      []string // parts of op.yaml
	}{
		{"rows and columns", "#define per_row threads\n__global__ void k(float* y, int* rows, int* cols, float* v, const float* x, int n) {\n" +
			"int i = (blockIdx.x * 256 + threadIdx.x) / per_row;\nif (i < n) { int end = rows[i + 1]; float s = 0; for (int j = rows[i]; j < end; j++) s += v[j] * x[cols[j]]; y[i] = s; } }",
			[]string{`name: rows, role: input, type: i32, shape: [size_n + 1], fill: "sorted(0, size_n)"`, `name: cols, role: input, type: i32, shape: [size_n], fill: "integers(0, size_n - 1)"`,
				`grid: ["ceil_div(size_n*threads, threads)", 1, 1]`}},
		{"a pointer beyond", "__global__ void k(float* y, const unsigned* at, const float* x, int n) { int i = blockIdx.x; int p = at[i]; if (i < n) y[i] = *(x + p); }",
			[]string{`name: at, role: input, type: u32, shape: [size_n], fill: "integers(0, size_n - 1)"`}},
		{"integers that are no indices", "__global__ void k(float* y, const int* x, int n) { int i = blockIdx.x; if (i < n) y[i] = x[i]; }", []string{"name: x, role: input, type: i32, shape: [size_n]}"}},
		{"an element a block", "__global__ void k(float* sums, const float* x, int n) { int i = blockIdx.x * num_blocks; sums[blockIdx.x] = x[i < n ? i : 0]; }",
			[]string{"name: sums, role: output, type: f32, shape: [1]}", "grid: [num_blocks, 1, 1]"}},
		{"the first alone", "__global__ void k(double* y, const double* x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; y[0] = s; y[1] = n; }",
			[]string{"name: y, role: output, type: f64, shape: [2]}", "grid: [1, 1, 1]"}},
		{"a border", "#define W 512\n__global__ void k(float* y, const float* x) { int i = blockIdx.x * 256 + threadIdx.x; if (i > 0 && i < W - 1) y[i] = x[i - 1]; }",
			[]string{"name: y, role: inout", "the border keeps what it holds", `grid: ["ceil_div(512, 256)", 1, 1]`}},
		{"one axis", "__global__ void k(float* y, int h) { int i = blockIdx.y; if (i < h) y[i] = 1; }", []string{"grid: [1, size_h, 1]"}},
		{"a block by a template's number", "template <int blockSize> __global__ void k(float* y, int n) { int i = blockIdx.x * blockSize + threadIdx.x; if (i < n) y[i] = 1; }",
			[]string{"blocksize: [256]", "block: [blocksize, 1, 1]", `grid: ["ceil_div(size_n, blocksize)", 1, 1]`}},
		{"what it calls", "__device__ void f(float* y, int n) { int i = blockIdx.x * THREADS + threadIdx.x; if (i < n) y[i] = 1; }\n__global__ void k(float* y, int n) { f(y, n); }",
			[]string{`grid: ["ceil_div(size_n, THREADS)", 1, 1]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, err := Choose(c.text, "op")
			if err != nil {
				t.Fatal(err)
			}
			o, err := FromKernel("op", c.text, k)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := load(o, c.text); err != nil {
				t.Fatalf("%v\n%s", err, o.YAML())
			}
			for _, want := range c.wants {
				if !strings.Contains(o.YAML(), want) {
					t.Errorf("no %s in\n%s", want, o.YAML())
				}
			}
		})
	}
}

func TestForeign(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{% for i in range(4) %}\n__global__ void k(float* y) {}", `^line 1: "\{% for i in range\(4\) %\}" is of a program that generates kernels`},
		{"__global__ void k(float* y) {\nint i = blockIdx.x * {{ block_size_x }} + threadIdx.x; }", `^line 2: "\{\{ block_size_x \}\}" is of a program`},
		{"__global__ void k(float* y) { int i = blockIdx.x * %s + threadIdx.x; }", `^line 1: "%s" stands for a number`},
		{"__global__ void k(float* y) { int i = blockIdx.x * %(threads)d + 1; }", `^line 1: "%\(threads\)d" stands for a number`},
		{"texture<float, 2> image;\n__global__ void k(float* y) {}", `^line 1: CUDA 12 has no texture<float, 2> any more`},
		{"__global__ void k(float* y) { int s = 3; y[7 % s] = 1; printf(\"%d * %d\", s, s); int a[1] = {{ s }}; y[(s) %s] = 1; }", ""},
	} {
		err := Foreign(c.text)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !regexp.MustCompile(c.want).MatchString(err.Error())) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}
