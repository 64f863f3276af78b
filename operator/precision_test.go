package operator_test

import (
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/torchvectors"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
	"autotune/templates"
)

// farApart is a kernel that fills the factors a and b of a matmul with numbers from 1 to 2. Each row of a and each
// column of b is then scaled by a power of two of its own, from 2^-60 to 2^60.
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

// farAway fills an input with numbers near 2^70, some of them infinite, and weights with numbers near 2^-90. The last
// number of the input is too large for the scale that guessed_scale.cuh guesses from a sample of the input.
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

// withFills returns a built-in operator whose tensors are filled by a kernel. edits are pairs of old and new text for
// op.yaml and its includes.
func withFills(t *testing.T, name, fill string, edits ...string) *operator.Operator {
	t.Helper()
	dir := t.TempDir()
	folder, err := fs.Sub(templates.FS, name)
	must.OK(t, err)
	must.OK(t, os.CopyFS(dir, folder))
	// A fill kernel must be called OPERATOR_fill in its file, so weights.cu swaps the names of the two kernels.
	names := strings.NewReplacer(name+"_fill(", "other(", "other(", name+"_fill(")
	files := map[string]string{"fill.cu": fill, "weights.cu": names.Replace(fill)}
	for _, file := range []string{name + "/op.yaml", "include/forward_convolution.yaml", "include/products.yaml", "include/row_maps.yaml"} {
		yaml, err := fs.ReadFile(templates.FS, file)
		must.OK(t, err)
		files[path.Base(file)] = string(yaml) // the operator's own file takes precedence over a shared one
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
		must.OK(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	o, err := operator.Load(os.DirFS(dir), ".")
	must.OK(t, err)
	if len(o.FillKernels) == 0 {
		t.Fatalf("nothing fills the tensors of %s", name)
	}
	return o
}

// filledProducts returns the operator matmul with factors whose rows and columns have very different magnitudes, and
// with a tolerance of a millionth in fp32.
func filledProducts(t *testing.T) *operator.Operator {
	return withFills(t, "matmul", farApart,
		"k if transpose_a else m, m if transpose_a else k]", "k if transpose_a else m, m if transpose_a else k], fill: fill.cu",
		"k if transpose_b else n], fill: within(k ** -0.5)", "k if transpose_b else n], fill: weights.cu",
		"'f32' else (4e-6", "'f32' else 0*(4e-6", "'f16' else 4e-6", "'f16' else 1e-6")
}

// proveSome tests chosen configurations of a problem, one for each template, on a Hopper GPU and on an earlier one.
// proveSome returns the names of the configurations' templates.
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

// Products in fp32 mode have the precision of fp32 in rows and columns of any magnitude: the sum of sixteen products of
// one sign must be correct to a millionth.
func TestProductsArePrecise(t *testing.T) {
	inFull(t)
	proven := proveSome(t, filledProducts(t), "1x70x16x90 normal", "fp32", func(p *operator.Problem) []space.Configuration { return p.Defaults(t.Context()) })
	for _, name := range []string{"tiled", "pipelined_gemm", "gathered_gemm", "mma_gemm"} {
		if !slices.Contains(proven, name) {
			t.Errorf("%s does not serve it", name)
		}
	}
}

// scaledOnes returns, for each template that can scale its factors, the first configuration that scales them.
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

// proveGuesses tests in fp32 mode the templates of conv2d that guess a scale for their inputs from a sample; conv1d has
// further templates that guess a scale.
func proveGuesses(t *testing.T, o *operator.Operator, text string) {
	t.Helper()
	proven := proveSome(t, o, text, "fp32", func(p *operator.Problem) []space.Configuration {
		return lists.Where(p.Defaults(t.Context()), func(c space.Configuration) bool { return strings.HasPrefix(c.Template, "warpgroup_") })
	})
	if want := []string{"warpgroup_gemm", "warpgroup_walk"}; !slices.Equal(proven, want) {
		t.Errorf("proven are %v, want %v", proven, want)
	}
}

// filledConvolution is a convolution whose input and weights are filled by a kernel, with a tolerance relative to the
// magnitude of the output.
func filledConvolution(t *testing.T, name, fill string) *operator.Operator {
	return withFills(t, name, strings.ReplaceAll(fill, "conv1d", name),
		"shape: [n, c, $]}", "shape: [n, c, $], fill: fill.cu}",
		"fill: within(fan_in ** -0.5)} #", "fill: weights.cu} #",
		"'f32' else (4e-6", "'f32' else 0*(4e-6")
}

// Factors that are scaled and multiplied as fp16 may have any magnitude, and may contain infinities.
func TestScaledFactors(t *testing.T) {
	inFull(t)
	convolution := filledConvolution(t, "conv1d", farAway)
	const ofConvolution, channelsLast = "2x20x90 c_out=70 kernel=3 padding=1 normal", "2x24x90 c_out=70 kernel=3 padding=1 layout=nhwc normal"
	if endurance.Full() {
		proveSome(t, convolution, ofConvolution, "fp32", func(p *operator.Problem) []space.Configuration { return p.Defaults(t.Context()) })
		proveGuesses(t, filledConvolution(t, "conv2d", farAway), "2x13x6x70 c_out=140 kernel=3 padding=1 normal")
	}
	for _, test := range endurance.Some([]struct {
		operator *operator.Operator
		problem  string
		scale    []string // templates that scale their factors
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

// ofCuDNN is the largest error of cuDNN's convolutions in fp32 for sums of 48 products of inputs in [0, 1).
const ofCuDNN = 7.1e-7

// In math mode fp32, a convolution is as precise as one that sums in fp32: its error is at most twice cuDNN's, which
// grows with the root of the number of products. The test compares the largest error of a kernel with cuDNN's, each
// over many outputs.
func TestConvolutionsInFp32(t *testing.T) {
	inFull(t)
	for _, test := range endurance.Some([]struct {
		operator, problem string
		terms             float64
	}{
		{"conv2d", "2x12x16x64 c_out=64 kernel=2 stride=2 uniform01", 48}, // no kernel needs to pack this input
		{"conv2d", "1x16x8x40 c_out=66 kernel=3 bias=true uniform01", 144},
		{"conv1d", "1x40x60 c_out=70 kernel=7 uniform01", 280}, // partial sums are moved to other accumulators
		{"conv_transpose2d", "1x12x8x12 c_out=40 kernel=4 stride=2 padding=1 uniform01", 48},
	}, 1) {
		t.Run(test.operator+" "+test.problem, func(t *testing.T) {
			o := find(t, test.operator)
			d := openEmulator(t)
			for _, limits := range []operator.Limits{d.Info().Limits, smaller(d.Info().Limits, 0)} {
				p, distribution := problem(t, o, test.problem, "fp32", limits)
				errorsOf(t, d, check{problem: p, distribution: distribution, choices: p.Defaults(t.Context())}, 2*ofCuDNN*math.Sqrt(test.terms/48))
			}
		})
	}
}

// imagesApart fills the first image and the weights with numbers from 1 to 2, and the second image with millionths.
const imagesApart = `__device__ float near_one(int i) { return 1.0f + (i * 2654435761u >> 9) * 0x1p-23f; }
extern "C" __global__ void conv1d_fill(float* x, unsigned) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N * C * H * W) x[i] = near_one(i) * (i < C * H * W ? 1.0f : 1e-6f);
}
extern "C" __global__ void other(float* weight, unsigned) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < C_OUT * C_GROUP * KERNEL_H * KERNEL_W) weight[i] = near_one(i);
}
`

// Two images, one a millionth of the other in magnitude, are both correct relative to their own magnitude.
func TestImagesFarApart(t *testing.T) {
	inFull(t)
	o := filledConvolution(t, "conv1d", imagesApart)
	proveSome(t, o, "2x20x70 c_out=70 kernel=3 normal", "fp32", func(p *operator.Problem) []space.Configuration { return p.Defaults(t.Context()) })
	proveSome(t, o, "2x20x70 c_out=70 kernel=3 normal", "tf32", func(p *operator.Problem) []space.Configuration { return scaledOnes(t, p) })
	if endurance.Full() {
		proveGuesses(t, filledConvolution(t, "conv2d", imagesApart), "2x13x6x70 c_out=70 kernel=3 normal")
	}
}

func errorsOf(t *testing.T, d device.Device, c check, most float64) {
	t.Helper()
	kernels := c.kernels(t)
	binaries := compileTogether(t, d, kernels, mostTogether)
	for i := range kernels {
		if binaries[i] == nil {
			binaries[i] = compileFor(t, d, kernels[i])
		}
	}
	protocol := device.DefaultProtocol()
	protocol.Samples, protocol.MinSamples, protocol.WarmUp, protocol.Distribution = 1, 1, 0, c.distribution
	session, err := d.Open(t.Context(), c.problem, binaries[0], protocol)
	must.OK(t, err)
	defer session.Close()
	for i, choice := range c.choices {
		o, err := session.Evaluate(t.Context(), device.Variant{Configuration: choice, Kernel: kernels[1+i], Binary: binaries[1+i]}, 0)
		must.OK(t, err)
		if o.Status != trial.OK || o.MaxAbsError > most {
			t.Errorf("%s: %s %s, an error of %.3g, at most %.3g is right", choice, o.Status, o.Message, o.MaxAbsError, most)
		} else {
			t.Logf("%s: %.3g", choice.Template, o.MaxAbsError)
		}
	}
}

// outlying fills rows with numbers near 20 and outliers, among them the first number of each row and each thread.
const outlying = `extern "C" __global__ void layer_norm_fill(float* x, unsigned) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < OUTER * LENGTH) x[i] = 20.0f + (i * 2654435761u >> 9) * 0x1p-23f + (i % LENGTH < 40 || i % 4099 == 0 ? 5000.0f : 0.0f);
}
`

// tiny fills rows with numbers whose reciprocal overflows a float.
const tiny = `extern "C" __global__ void normalize_fill(float* x, unsigned) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < OUTER * LENGTH) x[i] = (1 + i % 7) * 1e-40f;
}
`

// Each thread of a norm's kernel subtracts the first element that the thread reads, which may be an outlier, from the
// others. The norm of a row may be so small that the reciprocal of the norm is infinite.
func TestNormsOfUnusualRows(t *testing.T) {
	for _, test := range []struct{ operator, fill, problem string }{
		{"layer_norm", outlying, "2x40001x1 normal"},
		{"normalize", tiny, "2x40001x1 p=0 eps=0 normal"},
	} {
		t.Run(test.operator, func(t *testing.T) {
			o := withFills(t, test.operator, test.fill, "role: input,  shape: [outer, length, inner]", "role: input,  shape: [outer, length, inner], fill: fill.cu")
			proven := proveSome(t, o, test.problem, "fp32", func(p *operator.Problem) []space.Configuration { return p.Defaults(t.Context()) })
			for _, name := range []string{"rows", "rows_apart", "rows_in_turn"} {
				if !slices.Contains(proven, name) {
					t.Errorf("%s does not serve it", name)
				}
			}
		})
	}
}

// tied lists problems that amount to one matrix product of depth 16: y[o][p] is the sum over c of w[o][c] * x[c][p].
var tied = map[string]string{
	"conv1d":           "1x16x32 c_out=40 kernel=1 normal",
	"conv2d":           "1x16x1x32 c_out=40 kernel=1 normal",
	"conv3d":           "1x16x1x2x16 c_out=40 kernel=1 normal",
	"conv_separable2d": "1x16x1x32 c_out=40 kernel=1 normal", // its depthwise weights are 1
	"conv_transpose1d": "1x16x32 c_out=40 kernel=1 normal",
	"conv_transpose2d": "1x16x1x32 c_out=40 kernel=1 normal",
	"conv_transpose3d": "1x16x1x2x16 c_out=40 kernel=1 normal",
	"matmul":           "1x40x16x32 normal",
}

const tiedDepth, tiedRows, tiedColumns = 16, 40, 32

// roundings round integers from 2048 to 4095 and their negatives to TF32. TF32 represents only the even integers from
// 2048 to 4095, so every odd integer is a tie.
var roundings = map[string]func(float64) float64{
	"tf32":      func(v float64) float64 { return math.Copysign(2*math.Floor((math.Abs(v)+1)/2), v) },
	"tf32_even": func(v float64) float64 { return 2 * math.RoundToEven(v/2) },
}

// Kernels round ties to TF32 correctly by both rules: to the even number, and away from zero. The test compares the
// references with float64 sums of factors that it rounds itself, and the templates' defaults with the references. Since
// convolutions share headers, the test runs templates only for matmul, conv2d and a transposed convolution. Other tests
// compare the results of mode tf32 with PyTorch's, so in this mode the test runs only conv2d, with few of its
// templates.
func TestTiesAreRounded(t *testing.T) {
	inFull(t)
	for _, name := range operator.OperatorNames() {
		o := find(t, name)
		if (tied[name] == "") != (o.MathVariants["tf32_even"] != "tf32") {
			t.Fatalf("%s: the modes are %v, the problem is %q", name, o.MathModes, tied[name])
		}
		d := openEmulator(t)
		t.Run(name, func(t *testing.T) {
			for mode := range roundings {
				if tied[name] == "" || mode == "tf32" && name != "conv2d" || !endurance.Full() && name != "matmul" {
					continue
				}
				t.Run(mode, func(t *testing.T) {
					t.Parallel()
					p, distribution := problem(t, o, tied[name], mode, d.Info().Limits)
					k, err := p.Reference()
					must.OK(t, err)
					inputs, want := ties(name, mode)
					compareWithPyTorch(t, k.Launches[0].Entry, runKernel(t, d, p, k, nil, inputs), want)
					if name != "conv2d" && name != "conv_transpose2d" && name != "matmul" {
						return
					}
					for i, a := range p.Arguments {
						if a.Role.Filled() {
							p.Arguments[i].Fill = &operator.Fill{Distribution: "integers", Numbers: []float64{2048, 4095}}
						}
					}
					choices := slices.DeleteFunc(p.Defaults(t.Context()), func(c space.Configuration) bool {
						return c.Template != "pipelined_gemm" && c.Template != "tma_conv" && (mode == "tf32" || name == "conv_transpose2d")
					})
					prove(t, d, check{problem: p, distribution: distribution, choices: append(choices, scaledOnes(t, p)...)})
					other, _ := problem(t, o, tied[name], mode, smaller(d.Info().Limits, 0))
					other.Arguments = p.Arguments
					choices = slices.DeleteFunc(other.Defaults(t.Context()), func(c space.Configuration) bool { return c.Template != "mma_gemm" })
					if len(choices) == 0 {
						t.Error("mma_gemm does not serve it")
					}
					prove(t, d, check{problem: other, distribution: distribution, choices: append(choices, scaledOnes(t, other)...)})
					if name == "conv2d" {
						proveBoxes(t, d, o, mode)
					}
				})
			}
		})
	}
}

// proveBoxes tests the templates that load the pixels of channels-last images in boxes (cuboids of pixels and
// channels). In the templates that proveBoxes tests, either the kernel, the copy engine or an earlier launch rounds the
// pixels to TF32.
func proveBoxes(t *testing.T, d device.Device, o *operator.Operator, mode string) {
	p, distribution := problem(t, o, "1x16x1x32 c_out=40 kernel=1 layout=nhwc normal", mode, d.Info().Limits)
	for i, a := range p.Arguments {
		if a.Role.Filled() {
			p.Arguments[i].Fill = &operator.Fill{Distribution: "integers", Numbers: []float64{2048, 4095}}
		}
	}
	prove(t, d, check{problem: p, distribution: distribution, choices: slices.DeleteFunc(p.Defaults(t.Context()), func(c space.Configuration) bool {
		return !strings.HasPrefix(c.Template, "tma_channels")
	})})
}

// ties returns inputs of which half are ties (numbers halfway between two TF32 numbers), and the output for the rounded
// inputs.
func ties(name, mode string) (inputs map[string]torchvectors.Floats, want []float32) {
	x, w := make(torchvectors.Floats, tiedDepth*tiedColumns), make(torchvectors.Floats, tiedRows*tiedDepth)
	draw := func(i int) float32 { return float32(2048+i*7919%2048) * float32(1-i%3/2*2) }
	for i := range x {
		x[i] = draw(i)
	}
	at := func(o, c int) int { return o*tiedDepth + c }
	if strings.Contains(name, "transpose") {
		at = func(o, c int) int { return c*tiedRows + o }
	}
	for i := range w {
		w[i] = draw(len(x) + i)
	}
	round := roundings[mode]
	for o := range tiedRows {
		for p := range tiedColumns {
			sum := 0.0
			for c := range tiedDepth {
				sum += round(float64(w[at(o, c)])) * round(float64(x[c*tiedColumns+p]))
			}
			want = append(want, float32(sum))
		}
	}
	if name == "matmul" {
		return map[string]torchvectors.Floats{"a": w, "b": x}, want
	}
	if name == "conv_separable2d" {
		return map[string]torchvectors.Floats{"x": x, "depthwise": slices.Repeat(torchvectors.Floats{1}, tiedDepth), "pointwise": w}, want
	}
	return map[string]torchvectors.Floats{"x": x, "weight": w}, want
}

// The results of the two rules for rounding ties to TF32 differ by far more than the tolerance.
func TestTiesTellTheRulesApart(t *testing.T) {
	_, away := ties("conv2d", "tf32")
	_, even := ties("conv2d", "tf32_even")
	apart := 0
	for i := range away {
		if math.Abs(float64(away[i]-even[i])) > 1e-4*math.Abs(float64(even[i])) {
			apart++
		}
	}
	if apart < len(away)*3/4 {
		t.Errorf("%d of %d answers tell which rule it was", apart, len(away))
	}
}
