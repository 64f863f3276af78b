package operator_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/internal/lists"
	"autotune/internal/test/endurance"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
	"autotune/templates"
)

// farApart fills a and b, 16 elements to each row of a and column of b. A line's own power
// of two, from 2^-60 to 2^60, decides the numbers' magnitude.
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

// farAway fills an input with numbers near 2^70, some of them infinite, and weights with numbers near 2^-90. The input's
// last number is larger than a sample of the others lets guess (guessed_scale.cuh).
const farAway = `__device__ float far_away(int i, int power) { return ldexpf(1.0f + (i * 2654435761u >> 9) * 0x1p-23f, power - i % 7); }
extern "C" __global__ void conv1d_fill(float* x, unsigned) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    constexpr int last = N * C * H * W - 1;
    if (i <= last) x[i] = i == last ? 0x1p84f : i % 701 == 700 ? __int_as_float(0x7f800000) : far_away(i, 70);
}
extern "C" __global__ void other(float* weight, unsigned) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < C_OUT * C_GROUP * KERNEL_H * KERNEL_W) weight[i] = far_away(i, -90);
}
`

// withFills is a built-in operator with a kernel that fills its tensors, and other texts in op.yaml and
// the files that it includes.
func withFills(t *testing.T, name, fill string, edits ...string) *operator.Operator {
	t.Helper()
	dir := t.TempDir()
	folder, err := fs.Sub(templates.FS, name)
	must(t, err)
	must(t, os.CopyFS(dir, folder))
	// In weights.cu the kernel `other` is the one that fills.
	names := strings.NewReplacer(name+"_fill(", "other(", "other(", name+"_fill(")
	files := map[string]string{"fill.cu": fill, "weights.cu": names.Replace(fill)}
	for _, file := range []string{name + "/op.yaml", "include/forward_convolution.yaml", "include/products.yaml", "include/row_maps.yaml"} {
		yaml, err := fs.ReadFile(templates.FS, file)
		must(t, err)
		files[path.Base(file)] = string(yaml) // an operator's own file comes before a shared one
	}
	for i := 0; i < len(edits); i += 2 {
		found := false
		for file, text := range files {
			found = found || strings.Contains(text, edits[i])
			files[file] = strings.ReplaceAll(text, edits[i], edits[i+1])
		}
		if !found {
			t.Fatalf("%s has no %s", name, edits[i])
		}
	}
	for file, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	o, err := operator.Load(os.DirFS(dir), ".")
	must(t, err)
	if len(o.FillKernels) == 0 {
		t.Fatalf("nothing fills the tensors of %s", name)
	}
	return o
}

// filledProducts is matmul of factors whose lines are far apart, right within a millionth in fp32.
func filledProducts(t *testing.T) *operator.Operator {
	return withFills(t, "matmul", farApart,
		"k if transpose_a else m, m if transpose_a else k]", "k if transpose_a else m, m if transpose_a else k], fill: fill.cu",
		"k if transpose_b else n], fill: within(k ** -0.5)", "k if transpose_b else n], fill: weights.cu",
		"'f32' else (4e-6", "'f32' else 0*(4e-6", "'f16' else 4e-6", "'f16' else 1e-6")
}

// proveSome proves chosen configurations of a problem, one of each template, on a Hopper GPU and on
// an earlier one. It tells which templates they are of.
func proveSome(t *testing.T, o *operator.Operator, text, mode string, choose func(*operator.Problem) []space.Configuration) []string {
	t.Helper()
	d := openEmulator(t)
	var proven []string
	for _, limits := range []operator.Limits{d.Info().Limits, smaller(d.Info().Limits, 0)} {
		p, distribution := problem(t, o, text, mode, limits)
		c := check{problem: p, distribution: distribution}
		for _, configuration := range choose(p) {
			if !slices.Contains(proven, configuration.Template) {
				proven = append(proven, configuration.Template)
				c.choices = append(c.choices, configuration)
			}
		}
		prove(t, d, c)
	}
	slices.Sort(proven)
	return proven
}

// Products in fp32 are as precise as fp32, in every line of any magnitude: sixteen products of
// one sign, and a millionth of their sum.
func TestProductsArePrecise(t *testing.T) {
	inFull(t)
	proven := proveSome(t, filledProducts(t), "1x70x16x90 normal", "fp32", func(p *operator.Problem) []space.Configuration { return p.Defaults(t.Context()) })
	for _, name := range []string{"tiled", "pipelined_gemm", "gathered_gemm", "mma_gemm"} {
		if !slices.Contains(proven, name) {
			t.Errorf("%s does not serve it", name)
		}
	}
}

// scaledOnes are a problem's first configurations that scale factors, of each template that can.
func scaledOnes(t *testing.T, p *operator.Problem) (all []space.Configuration) {
	t.Helper()
	for _, part := range partsOf(t, p) {
		for i := part.first; i < part.end; i++ {
			v, has := part.At(i).Get("scaled")
			if has && v == expr.Int(1) || part.At(i).Template == "tma_channels_scaled" {
				all = append(all, part.At(i))
				break
			}
		}
	}
	return all
}

// proveGuesses proves the templates that guess a power in fp32, of a convolution of two axes. Those of one axis have
// the others.
func proveGuesses(t *testing.T, o *operator.Operator, text string) {
	t.Helper()
	proven := proveSome(t, o, text, "fp32", func(p *operator.Problem) []space.Configuration {
		return lists.Where(p.Defaults(t.Context()), func(c space.Configuration) bool { return strings.HasPrefix(c.Template, "warpgroup_") })
	})
	if want := []string{"warpgroup_gemm", "warpgroup_walk"}; !slices.Equal(proven, want) {
		t.Errorf("proven are %v, want %v", proven, want)
	}
}

// filledConvolution is a convolution of such an input and such weights; it is right within its own magnitude.
func filledConvolution(t *testing.T, name, fill string) *operator.Operator {
	return withFills(t, name, strings.ReplaceAll(fill, "conv1d", name),
		"shape: [n, c, $]}", "shape: [n, c, $], fill: fill.cu}",
		"fill: within(fan_in ** -0.5)} #", "fill: weights.cu} #",
		"'f32' else (4e-6", "'f32' else 0*(4e-6")
}

// Factors that are scaled and multiplied as fp16 may have any magnitude, and infinities among them.
func TestScaledFactors(t *testing.T) {
	inFull(t)
	convolution := filledConvolution(t, "conv1d", farAway)
	const ofConvolution, channelsLast = "2x20x90 c_out=70 kernel=3 padding=1 normal", "2x24x90 c_out=70 kernel=3 padding=1 layout=nhwc normal"
	proveSome(t, convolution, ofConvolution, "fp32", func(p *operator.Problem) []space.Configuration { return p.Defaults(t.Context()) })
	proveGuesses(t, filledConvolution(t, "conv2d", farAway), "2x13x6x70 c_out=140 kernel=3 padding=1 normal")
	for _, test := range endurance.Some([]struct {
		operator *operator.Operator
		problem  string
		scale    []string // templates that scale
	}{
		{filledProducts(t), "1x70x16x90 normal", []string{"mma_gemm", "pipelined_gemm"}}, {convolution, ofConvolution, []string{"mma_gemm", "pipelined_gemm"}},
		{convolution, channelsLast, []string{"mma_gemm", "pipelined_gemm", "tma_channels_scaled"}},
	}, 1) {
		for _, mode := range endurance.Some([]string{"tf32", "tf32_even"}, 1) {
			proven := proveSome(t, test.operator, test.problem, mode, func(p *operator.Problem) []space.Configuration { return scaledOnes(t, p) })
			if !slices.Equal(proven, test.scale) {
				t.Errorf("%s in %s: proven are %v", test.operator.Name, mode, proven)
			}
		}
	}
}
