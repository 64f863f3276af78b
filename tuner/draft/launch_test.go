package draft

import (
	"strings"
	"testing"

	"autotune/internal/test/must"
)

// The sizes and contents of a draft's tensors, and its grid, follow from the kernel's text.
func TestGuesses(t *testing.T) {
	for _, c := range []struct {
		name, text string
		wants      []string // texts that op.yaml must contain
	}{
		{"indices", "__global__ void k(float* y, const int* rows, int n) { int i = blockIdx.x; if (i < n) y[i] = rows[i + 1]; }",
			[]string{"name: rows, role: input, type: i32, shape: [size_n + 1]}  # of indices, fill says"}},
		{"an element a block", "__global__ void k(float* sums, const float* x, int n) { int i = blockIdx.x * num_blocks; sums[blockIdx.x] = x[i < n ? i : 0]; }",
			[]string{"name: sums, role: output, type: f32, shape: [1]}", "grid: [num_blocks, 1, 1]"}},
		{"the first alone", "__global__ void k(double* y, const double* x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; y[0] = s; y[1] = n; }",
			[]string{"name: y, role: output, type: f64, shape: [2]}", "grid: [1, 1, 1]"}},
		{"one axis", "__global__ void k(float* y, int h) { int i = blockIdx.y; if (i < h) y[i] = 1; }", []string{"grid: [1, size_h, 1]"}},
		{"a block by a template's number", "template <int blockSize> __global__ void k(float* y, int n) { int i = blockIdx.x * blockSize + threadIdx.x; if (i < n) y[i] = 1; }",
			[]string{"blocksize: [256]", "block: [blocksize, 1, 1]", `grid: ["ceil_div(size_n, blocksize)", 1, 1]`}},
		{"what it calls", "__device__ void f(float* y, int n) { int i = blockIdx.x * THREADS + threadIdx.x; if (i < n) y[i] = 1; }\n__global__ void k(float* y, int n) { f(y, n); }",
			[]string{`grid: ["ceil_div(size_n, THREADS)", 1, 1]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, err := Choose(c.text, "op")
			must.OK(t, err)
			o, err := FromKernel("op", c.text, k)
			must.OK(t, err)
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
