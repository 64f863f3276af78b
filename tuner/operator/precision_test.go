package operator_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/space"
	"autotune/templates"
	"autotune/tuner/operator"
)

// farApart fills a and b, 16 elements to each row of a and column of b, with numbers whose
// magnitude a line's own power of two decides, from 2^-60 to 2^60.
const farApart = `__device__ float far_apart(int i, int line) {
    return ldexpf(1.0f + (i * 2654435761u >> 9) * 0x1p-23f, line * 37 % 121 - 60);
}
extern "C" __global__ void matmul_fill(float* a, unsigned) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < M * K) a[i] = far_apart(i, i / K);
}
extern "C" __global__ void other(float* b, unsigned) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < K * N) b[i] = far_apart(i, i % N + 50);
}
`

// Products in fp32 are as precise as fp32, in every line of any magnitude: sixteen products of
// one sign, and a millionth of their sum.
func TestProductsArePrecise(t *testing.T) {
	inFull(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, templates.FS); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "matmul")
	yaml, err := fs.ReadFile(templates.FS, "matmul/op.yaml")
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.NewReplacer(
		"k if transpose_a else m, m if transpose_a else k]", "k if transpose_a else m, m if transpose_a else k], fill: {kernel: fill.cu}",
		"k if transpose_b else n], scale: k ** -0.5", "k if transpose_b else n], fill: {kernel: fill.cu, entry: other}",
		"atol: 1e-5", "atol: 0*1e-5", "if math != 'fp32' else 1e-4", "if math != 'fp32' else 1e-6",
	).Replace(string(yaml))
	for name, text := range map[string]string{"op.yaml": edited, "fill.cu": farApart} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o, err := operator.Load(os.DirFS(dir), "matmul")
	if err != nil {
		t.Fatal(err)
	}
	d := openEmulator(t)
	proven := map[string]bool{}
	for _, limits := range []operator.Limits{d.Info().Limits, smaller(d.Info().Limits, 0)} {
		p, distribution := problem(t, o, "1x70x16x90 normal", "fp32", limits)
		choices := slices.DeleteFunc(p.Defaults(t.Context()), func(c space.Configuration) bool { return proven[c.Template] })
		for _, c := range choices {
			proven[c.Template] = true
		}
		prove(t, d, check{problem: p, distribution: distribution, choices: choices})
	}
	for _, name := range []string{"tiled", "pipelined_gemm", "gathered_gemm", "mma_gemm"} {
		if !proven[name] {
			t.Errorf("%s does not serve it", name)
		}
	}
}
