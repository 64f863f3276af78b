package operator_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/device/trial"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/internal/test/torchvectors"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

// The tests in this file run the built-in kernels on the emulator. The tests compare references with PyTorch's results,
// and templates with their references.

func find(t testing.TB, name string) *operator.Operator {
	t.Helper()
	o, err := operator.Find(name)
	must.OK(t, err)
	return o
}

func openEmulator(t *testing.T) device.Device {
	t.Helper()
	d, err := emulator.Open(emulator.Options{CacheDir: testcache.Dir()})
	testneeds.CXX.Opened(t, err, emulator.ErrNoCompiler)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func compileFor(t *testing.T, d device.Device, k operator.Kernel) *compile.Binary {
	t.Helper()
	b, err := d.Compiler().Compile(context.Background(), compile.Request{Kernel: k, Arch: d.Arch()})
	if err != nil {
		t.Fatalf("%s does not compile: %v", k.Launches[0].Entry, err)
	}
	return b
}

func readVectors(t *testing.T, operator string) torchvectors.Vectors {
	t.Helper()
	v, err := torchvectors.Of(operator)
	must.OK(t, err)
	return v
}

// inFull skips a test in short runs, because it compiles and emulates kernels for minutes and runs little Go code.
func inFull(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles and emulates for minutes")
	}
}

// answer is PyTorch's result for a problem, with the reference kernel that must compute the same result.
type answer struct {
	torchvectors.Case
	problem *operator.Problem
	kernel  operator.Kernel
	binary  *compile.Binary
}

// answers returns stored results of PyTorch for operators, and binds the problems with the further parameters in the
// argument more. answers returns few cases of each operator, or all cases if AUTOTUNE_TEST_FULL is set. The references
// of all operators are compiled together.
func answers(t *testing.T, d device.Device, of func(*operator.Operator) bool, more map[string]string, few int) (all []answer) {
	t.Helper()
	var kernels []operator.Kernel
	for _, name := range operator.OperatorNames() {
		o := find(t, name)
		if !of(o) {
			continue
		}
		for _, c := range endurance.Some(readVectors(t, name).Cases, few) {
			maps.Copy(c.Parameters, more)
			p, err := o.Bind(operator.Request{Shape: c.Shape, Parameters: c.Parameters, Math: c.Math}, d.Info().Limits)
			must.OK(t, err)
			k, err := p.Reference()
			must.OK(t, err)
			all, kernels = append(all, answer{c, p, k, nil}), append(kernels, k)
		}
	}
	for i, b := range compileTogether(t, d, kernels, referencesAtATime) {
		all[i].binary = b
	}
	return all
}

func TestReferencesMatchPyTorch(t *testing.T) {
	inFull(t)
	d := openEmulator(t)
	for _, a := range answers(t, d, func(*operator.Operator) bool { return true }, nil, 2) {
		t.Run(fmt.Sprint(a.problem.Operator.Name, " ", a.Name, " ", a.Math), func(t *testing.T) {
			t.Parallel()
			if got := a.problem.Output().Shape; fmt.Sprint(got) != fmt.Sprint(a.Output.Shape) {
				t.Fatalf("%s: the output has the shape %v, PyTorch's has %v", a.problem, got, a.Output.Shape)
			}
			compareWithPyTorch(t, a.kernel.Launches[0].Entry, runKernel(t, d, a.problem, a.kernel, a.binary, a.Inputs), a.Output.Data)
		})
	}
}

// For images in channels-last order, references compute what PyTorch computes for the same images.
func TestReferencesKnowLayouts(t *testing.T) {
	inFull(t)
	d := openEmulator(t)
	ordered := func(o *operator.Operator) bool { return len(o.Orders()) > 0 }
	for _, a := range answers(t, d, ordered, map[string]string{"layout": "nhwc"}, 1) {
		inputs := map[string]torchvectors.Floats{}
		for _, tensor := range a.problem.Arguments {
			if tensor.Role.Filled() {
				inputs[tensor.Name] = laid(tensor, a.Inputs[tensor.Name])
			}
		}
		compareWithPyTorch(t, a.problem.String(), runKernel(t, d, a.problem, a.kernel, a.binary, inputs), laid(a.problem.Output(), a.Output.Data))
	}
}

// laid rearranges the values of a tensor from row-major order into the tensor's order in memory.
func laid(a operator.Argument, data torchvectors.Floats) torchvectors.Floats {
	in := make(torchvectors.Floats, len(data))
	for i := range in {
		at := 0
		for axis, n := range a.Coordinates(int64(i)) {
			at = at*int(a.Shape[axis]) + int(n)
		}
		in[i] = data[at]
	}
	return in
}

// For inputs that contain NaN and minus infinity, the built-in templates return the same results as PyTorch.
func TestTemplatesMatchPyTorchOnNaN(t *testing.T) {
	inFull(t)
	v := readVectors(t, "max_pool2d")
	o := find(t, v.Operator)
	d := openEmulator(t)
	for _, c := range v.Cases {
		if !strings.HasSuffix(c.Name, "NaN") && !strings.HasSuffix(c.Name, "minus infinity") {
			continue
		}
		p, err := o.Bind(operator.Request{Shape: c.Shape, Parameters: c.Parameters}, d.Info().Limits)
		must.OK(t, err)
		for _, configuration := range p.Defaults(t.Context()) {
			k, err := p.Kernel(configuration)
			must.OK(t, err)
			compareWithPyTorch(t, c.Name+" in "+k.Launches[0].Entry, runKernel(t, d, p, k, nil, c.Inputs), c.Output.Data)
		}
	}
}

// runKernel returns a kernel's output for the named inputs. runKernel compiles the kernel if it is given no binary.
func runKernel(t *testing.T, d device.Device, p *operator.Problem, k operator.Kernel, b *compile.Binary, inputs map[string]torchvectors.Floats) []float32 {
	t.Helper()
	var tensors []emulator.HostTensor
	written := 0
	for _, spec := range p.Arguments {
		if spec.Owner != "" {
			continue // an argument of another kernel
		}
		data := []float32(inputs[spec.Name])
		if spec.Role == operator.Output {
			data = make([]float32, spec.Elements)
			written = len(tensors)
		}
		if int64(len(data)) != spec.Elements {
			t.Fatalf("%s has %d elements, want %d", spec.Name, len(data), spec.Elements)
		}
		tensor := emulator.HostTensorOf(spec, data)
		if !slices.EqualFunc(tensor.Floats(), data, func(a, b float32) bool { return a == b || a != a && b != b }) {
			t.Fatalf("%s has numbers that are none of %s", spec.Name, spec.Type)
		}
		tensors = append(tensors, tensor)
	}
	if b == nil {
		b = compileFor(t, d, k)
	}
	if err := emulator.Run(context.Background(), b, k.Launches[0], tensors); err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	return tensors[written].Floats()
}

func compareWithPyTorch(t *testing.T, what string, got, want []float32) {
	t.Helper()
	wrong := 0
	for i, w := range want {
		g := got[i]
		near := math.Abs(float64(g)-float64(w)) <= 1e-6+1e-6*math.Abs(float64(w)) && !math.IsInf(float64(w), 0)
		same := g == w || g != g && w != w || near
		if !same {
			if wrong++; wrong <= 3 {
				t.Errorf("%s: element %d is %g, PyTorch's is %g", what, i, g, w)
			}
		}
	}
	if wrong > 3 {
		t.Errorf("%s: %d of %d elements differ from PyTorch's", what, wrong, len(want))
	}
}

// problems are the problems to test templates on: ragged shapes, values of each parameter other than its default,
// windows that reach over the edge, wide rows, and many rows for large tiles.
var problems = map[string][]string{
	"avg_pool1d": {
		"2x3x1029 kernel=8 stride=1 padding=4 epilogue=gelu(x+q[c])*s[]+r[n,c,w] negative",
		"3x2x2050 kernel=3 stride=2 padding=1 ceil_mode=true count_include_pad=false normal",
		"1x5x37 kernel=12 stride=5 ceil_mode=true uniform01",
		"2x1x4096 kernel=4 special",
		"5x7x3 kernel=1 stride=2 negative",
		"1x2x1501 kernel=39 stride=17 padding=19 normal", // slide's widest windows
		"2x136x37 kernel=4 stride=2 padding=1 ceil_mode=true layout=nhwc type=bf16 epilogue=silu(x)*u[n,c]+r[n,c,w]-p[w,f32] normal",
		"3x6x61 kernel=8 stride=1 padding=4 count_include_pad=false layout=nhwc special",
		"2x5x70 kernel=3 stride=2 type=f16 epilogue=gelu(x)*v[c,w,f32]+r[n,c,w] negative",
		"3x7x33 kernel=33 stride=2 ceil_mode=true epilogue=where(x>-1e30,x,2)*q[c]+r[n,c,w] special", // a window that covers the whole image
	},
	"avg_pool2d": {
		"2x3x45x70 kernel=11 negative",
		"1x2x33x530 kernel=3x5 stride=1x2 padding=1x2 epilogue=gelu(x+q[c])*p[h,w]+r[n,c,h,w] normal",
		"1x2x19x23 kernel=4x3 stride=3x2 padding=2x1 ceil_mode=true count_include_pad=false uniform01",
		"1x1x70x264 kernel=2 negative",
		"2x1x23x37 kernel=3 stride=2 padding=1 ceil_mode=true divisor_override=7 normal",
		"3x1x5x7 kernel=5x7 normal",
		"1x3x34x40 kernel=3 stride=1 padding=1 special",
		"1x66x13x19 kernel=3 stride=1 padding=1 layout=nhwc normal",
		"2x40x23x37 kernel=3x2 stride=2 padding=1 ceil_mode=true divisor_override=7 layout=nhwc type=f16 epilogue=where(x>-30000,x,2)*q[c]+r[n,c,h,w] special",
		"1x2x33x53 kernel=3x5 stride=1x2 padding=1x2 type=bf16 epilogue=silu(x)*v[c,h,w,f32]-u[n,c] normal",
		"3x7x7x7 kernel=7 stride=1 ceil_mode=true divisor_override=50 type=bf16 epilogue=where(x>-1e30,x,2)*u[n,c]-p[h,w] special", // a window that covers the whole image
		"1x2x64x65 kernel=64x65 normal",
	},
	"max_pool2d": {
		"1x2x34x515 kernel=4 stride=1 padding=1 negative",
		"2x1x21x27 kernel=3x4 stride=2x3 padding=1x2 dilation=2x1 normal",
		"1x3x19x22 kernel=3 stride=4 padding=1 dilation=2 ceil_mode=true negative",
		"1x1x66x264 kernel=2 stride=2 padding=0 uniform01",
		"2x2x5x6 kernel=2 stride=3 padding=1 ceil_mode=true epilogue=x*q[c]+r[n,c,h,w]-u[n,c]*v[c,h,w] negative",
		"1x3x34x40 kernel=3 stride=1 padding=1 epilogue=where(x>-1e30,x,2)*q[c]+r[n,c,h,w] special",
		"1x2x9x4 kernel=2 stride=1 padding=1 dilation=5 normal", // windows that contain only padding
		"1x136x21x18 kernel=3 stride=1 padding=1 layout=nhwc type=bf16 epilogue=where(x>-1e30,x,2)*q[c]+r[n,c,h,w] special",
		"2x6x21x27 kernel=3x4 stride=2x3 padding=1x2 dilation=2x1 ceil_mode=true layout=nhwc epilogue=gelu(x+q[c])*u[n,c]+v[c,h,w]-p[h,w] normal",
		"1x5x40x41 kernel=33 stride=8 padding=16 layout=nhwc type=f16 special", // windows too large to unroll
		"1x3x19x22 kernel=3 stride=4 padding=1 dilation=2 ceil_mode=true type=f16 epilogue=where(x>-30000,x,2)*s[]+r[n,c,h,w,f32] special",
		"3x7x7x7 kernel=7 stride=1 padding=0 ceil_mode=true type=bf16 special", // a window that covers the whole image
		"1x2x64x65 kernel=64x65 padding=0 epilogue=where(x>-1e30,x,2)*q[c]+r[n,c,h,w] special",
	},
	"max_pool1d": {
		"2x3x1031 kernel=8 stride=1 padding=4 dilation=3 epilogue=gelu(x+q[c])*s[]+r[n,c,w] negative",
		"1x2x2100 kernel=100 stride=1 padding=50 epilogue=where(x>-1e30,x,2)*q[c]+r[n,c,w] special",
		"5x300x4 kernel=2 stride=1 padding=1 dilation=5 ceil_mode=true normal", // windows that contain only padding
		"2x136x37 kernel=4 stride=2 padding=1 dilation=2 layout=nhwc type=f16 special",
		"3x6x61 kernel=8 stride=1 padding=4 layout=nhwc normal",
		"2x5x70 kernel=3 stride=2 type=bf16 epilogue=where(x>-1e30,x,2)*u[n,c]-p[w] special",
		"3x7x4099 kernel=4099 stride=2 padding=0 ceil_mode=true special", // a window that covers the whole image
	},
	"max_pool3d": {
		"1x1x36x9x13 kernel=3x2x3 stride=1 padding=1 negative",
		"2x1x9x10x12 kernel=3 stride=2 padding=1 dilation=3 special",
		"1x1x5x20x131 kernel=2x3x4 stride=3x2x2 padding=1x1x2 dilation=1x2x1 ceil_mode=true epilogue=gelu(x)*p[d,h,w]+r[n,c,d,h,w] normal",
		"1x136x7x6x5 kernel=3x2x3 stride=1 padding=1 layout=nhwc type=bf16 special",
		"1x6x9x12x11 kernel=3 stride=2x1x2 padding=1 dilation=1x2x1 layout=nhwc epilogue=silu(x+q[c])*v[c,d,h,w]+r[n,c,d,h,w] normal",
		"2x1x5x6x12 kernel=3 stride=2 padding=1 type=f16 epilogue=where(x>-30000,x,2)*u[n,c]+r[n,c,d,h,w] special",
		"3x5x3x11x1 kernel=3x11x1 stride=1 special", // a window that covers the whole image
	},
	"avg_pool3d": {
		"1x1x36x9x13 kernel=3x2x3 stride=1 padding=1 divisor_override=7 negative",
		"2x1x9x10x12 kernel=3 stride=2 padding=1 epilogue=where(x>-1e30,x,2)*q[c]+r[n,c,d,h,w] special",
		"1x1x5x20x131 kernel=2x3x4 stride=3x2x2 padding=1x1x2 ceil_mode=true count_include_pad=false normal",
		"1x136x7x6x5 kernel=3x2x3 stride=1 padding=1 layout=nhwc type=f16 epilogue=where(x>-30000,x,2)*s[]+r[n,c,d,h,w] special",
		"1x6x9x12x11 kernel=3 stride=2x1x2 padding=1 ceil_mode=true layout=nhwc normal",
		"2x1x5x6x12 kernel=3 stride=2 padding=1 divisor_override=7 type=bf16 normal",
		"3x5x3x11x1 kernel=3x11x1 divisor_override=5 special", // a window that covers the whole image
	},
	"depthwise_conv2d": {
		"1x2x34x515 kernel=3 negative",
		"1x3x21x27 kernel=3x4 stride=2x3 padding=1x5 dilation=2x1 bias=true normal",
		"2x2x18x264 kernel=5 padding=2 epilogue=silu(x+q[c])*s[]+r[n,c,h,w] normal",
		"1x1x9x9 kernel=1 stride=2 bias=true negative",
		"1x3x34x40 kernel=3 padding=1 special",
		"1x136x13x18 kernel=3 padding=1 bias=true layout=nhwc type=bf16 epilogue=gelu(x+q[c])+r[n,c,h,w] normal",
		"2x66x11x17 kernel=3x4 stride=2x1 padding=1x5 dilation=2x1 layout=nhwc special",
		"1x8x36x72 kernel=33x31 padding=16 layout=nhwc type=f16 normal", // kernels too large to unroll
		"2x2x18x63 kernel=5 padding=2 bias=true type=f16 epilogue=x*v[c,h,w,f32]-u[n,c] normal",
	},
	"conv1d": {
		"2x6x131 c_out=9 kernel=4 stride=2 padding=3 dilation=3 groups=3 bias=true normal",
		"1x40x300 c_out=200 kernel=2 stride=2 bias=true epilogue=gelu(x+q[c])*s[]+r[n,c,w] uniform01",
		"1x70x90 c_out=130 kernel=7 padding=3 negative",
		"2x40x60 c_out=70 kernel=1 bias=true normal",
		"2x36x600 c_out=70 kernel=3 padding=40 dilation=50 bias=true normal", // input that a tensor map can describe
		"2x2x680 c_out=130 kernel=10 stride=5 padding=3 bias=true normal",    // few channels, which a tensor map can describe as well
		"2x40x72 c_out=70 kernel=1 type=f16 bias=true epilogue=silu(x)*u[n,c]+r[n,c,w] normal",
		"2x6x41 c_out=9 kernel=4 stride=2 padding=3 dilation=3 groups=3 layout=nhwc bias=true normal",
	},
	"conv3d": {
		"1x4x7x8x9 c_out=6 kernel=2x3x4 stride=1x2x3 padding=1x0x5 dilation=2x1x2 groups=2 bias=true epilogue=where(x>-1e30,x,2)*v[c,d,h,w]-p[d,h,w,bf16] special",
		"1x20x4x6x10 c_out=70 kernel=2x1x2 stride=2x1x2 bias=true normal",
		"2x17x2x5x11 c_out=130 kernel=3x3x7 padding=1x1x3 negative",
		"2x24x2x6x10 c_out=70 kernel=1 normal",
		"2x20x4x5x36 c_out=70 kernel=3x2x3 stride=2x1x1 padding=1x0x1 bias=true negative", // input that a tensor map can describe
		"1x3x4x25x132 c_out=40 kernel=3x4x5 stride=1x2x2 padding=1x2x2 normal",            // few channels, which a tensor map can describe as well
		"2x24x2x6x10 c_out=70 kernel=1 type=bf16 normal",
		"2x4x7x8x9 c_out=6 kernel=2x3x4 stride=1x2x3 padding=1x0x5 dilation=2x1x2 groups=2 type=f16 layout=nhwc bias=true normal",
	},
	"conv_transpose1d": {
		"2x6x41 c_out=9 kernel=4 stride=3 padding=2 output_padding=1 groups=3 bias=true normal",
		"2x70x60 c_out=200 kernel=15 stride=3 padding=3 negative",
		"2x20x41 c_out=9 kernel=7 stride=5 padding=3 dilation=3 bias=true normal",
		"1x20x41 c_out=70 kernel=16 stride=8 padding=4 epilogue=gelu(x+q[c])+r[n,c,w] normal", // half of the phases begin to read one position later
		"2x36x132 c_out=40 kernel=5 stride=2 padding=3 output_padding=1 bias=true normal",     // input that a tensor map can describe
		"2x70x144 c_out=130 kernel=3 dilation=4 padding=1 negative",
		"2x6x41 c_out=9 kernel=4 stride=3 padding=2 output_padding=1 groups=3 layout=nhwc bias=true normal",
	},
	"group_norm": {
		"3x6x337 groups=2 epilogue=relu(x)*q[c]+r[n,c,hw] normal", // rows with any alignment
		"2x4x40 groups=4 weight=false type=bf16 negative",
		"1x6x2804 groups=1 bias=false normal",
		"8x10x13111 groups=2 type=f16 epilogue=x*u[n,c]+r[n,c,hw,f32] normal", // rows that are split among many blocks
	},
	"batch_norm": {
		"3x5x37 training=true epilogue=relu(x+r[n,c,hw])-w[hw] normal",
		"3x2x2008 training=true bias=false momentum=0.5 type=f16 normal",
		"1x1x448500 training=true normal", // a row that just exceeds the shared memory of all blocks
		"4x3x16392 training=true type=bf16 epilogue=gelu(x)+r[n,c,hw] normal",
		"3x5x72 epilogue=x*s[]+q[c] special",
	},
	"triplet_margin_loss": {
		"5x1003 normal", // rows with different alignments
		"19x24 mean=false swap=true type=bf16 negative",
		"2x12301 p=1 sum=true type=f16 normal",
		"3x31 mean=false p=0 special",
		"7x2048 p=3 swap=true margin=0.5 uniform01",
	},
	"conv_separable2d": {
		"2x20x13x17 c_out=40 padding=1 bias=true normal",
		"1x35x9x70 c_out=130 kernel=3x5 stride=2x1 padding=1x3 dilation=1x2 negative",
		"1x70x20x19 c_out=9 kernel=2 bias=true epilogue=x*s[c]+r[n,c,h,w]-o[h] normal",
		"2x20x13x40 c_out=40 padding=1 bias=true type=bf16 epilogue=silu(x+q[c])-u[n,c] normal",
		"1x40x11x21 c_out=20 kernel=5x2 stride=1x2 padding=2x1 type=f16 negative",
	},
	"scaled_dot_product_attention": {
		"1x4x70x133x64 type=f16 heads_kv=2 causal=true width_v=40 normal",
		"2x2x70x100x40 type=bf16 mask_batch=2 mask_heads=1 width_v=72 normal",
		"1x1x9x300x136 type=bf16 scale=2.5 negative",
		"1x3x100x200x24 type=f16 causal=true normal",
		"2x67x3x9x8 type=bf16 heads_kv=1 normal", // more tiles than multiprocessors
		"2x2x6x77x20 causal=true normal",
		"1x2x140x250x40 heads_kv=1 causal=true normal",
		"1x2x140x70x36 mask_batch=1 mask_heads=2 width_v=12 normal",
	},
	"elementwise": {
		"3x1001x7 f=gelu(x) normal", // a size that is not a multiple of a vector
		"5x1003x1 f=tanh(x*w)-b type=bf16 negative",
		"19x48x1 f=silu(x)*w uniform01",
		"3x5x72 f=(x-b)*w special",
		"2x65x42 f=softplus(x,2.0,10.0)+w type=f16 normal",
		"1x1x12301 f=elu(x*w,0.5) normal",
		"1x9973x1 f=mish(x)+w/(1+exp(b)) normal",
		"3x1001x7 f=square(x-w) mean=true special",
		"1x70001x1 f=huber(x-w) sum=true type=bf16 normal",
	},
	"conv_transpose2d": {
		"1x4x7x9 c_out=6 kernel=3x4 stride=2x3 padding=1x2 output_padding=1x0 groups=2 bias=true normal",
		"2x6x5x21 c_out=10 kernel=4x8 stride=2x4 padding=1x6 groups=2 bias=true epilogue=where(x>-1e30,x,2)*q[c]+r[n,c,h,w] special",
		"2x40x5x11 c_out=130 kernel=4x14 stride=2 padding=1 negative",
		"1x20x7x9 c_out=12 kernel=5x4 stride=2x6 padding=1x7 dilation=2x4 normal", // phases without taps of the kernel
		"2x8x6x5 c_out=6 kernel=3 stride=3x2 padding=4x1 dilation=2x8 output_padding=1 groups=2 bias=true negative",
		"2x64x6x68 c_out=70 kernel=3x4 stride=1x2 padding=1x3 dilation=2x1 output_padding=1x0 groups=2 bias=true epilogue=where(x>-1e30,x,2)*s[c]+p[h,w] special", // input that a tensor map can describe
		"2x40x5x9 c_out=70 kernel=4 stride=2 padding=1 type=bf16 bias=true normal",
		"2x8x6x5 c_out=6 kernel=3 stride=3x2 padding=4x1 dilation=2x8 output_padding=1 groups=2 layout=nhwc bias=true normal",
		"1x64x5x7 c_out=20 kernel=2x3 stride=2x3 padding=2x0 type=bf16 layout=nhwc bias=true epilogue=gelu(x+q[c])*p[h,w,f32]+r[n,c,h,w] normal", // phases as columns
		"2x64x5x3 c_out=24 kernel=3 stride=2 padding=1 output_padding=1x0 groups=8 type=f16 layout=nhwc bias=true epilogue=where(x>-30000,x,2)*s[c]+r[n,c,h,w] special",
	},
	"conv_transpose3d": {
		"1x4x3x4x5 c_out=6 kernel=2x3x4 stride=1x2x3 padding=0x1x2 output_padding=0x1x0 groups=2 bias=true normal",
		"1x20x3x5x7 c_out=130 kernel=3x3x7 padding=1 negative",
		"1x20x3x4x5 c_out=10 kernel=2x3x3 stride=3x2x4 padding=0x1x5 dilation=2x2x6 normal",
		"2x20x3x4x36 c_out=34 kernel=2x3x6 stride=2x1x4 padding=0x1x2 output_padding=1x0x0 bias=true negative", // input that a tensor map can describe
		"1x4x3x4x5 c_out=6 kernel=2x3x4 stride=1x2x3 padding=0x1x2 output_padding=0x1x0 groups=2 type=bf16 layout=nhwc bias=true epilogue=gelu(x)*u[n,c]+r[n,c,d,h,w] normal",
	},
	"matmul": {
		"2x70x33x90 bias=true normal",
		"1x70x200x301 transpose_a=true negative",
		"1x79x1030x151 transpose_a=true transpose_b=true bias=true epilogue=silu(x*s[n])+r[batch,m,n,bf16] uniform01", // splits with an odd number of outputs
		"1x9x1028x8 transpose_b=true epilogue=tanh(x+d[n])-v[m] negative",
		"1x140x129x296 epilogue=elu(x,0.5)*d[n]+r[m,n] normal",
		"1x70x1032x92 bias=true epilogue=leaky_relu(x,0.2) negative", // factors that tensor maps can describe
		"1x140x72x300 transpose_b=true normal",
		"1x132x136x90 transpose_a=true transpose_b=true bias=true negative",
		"3x70x1032x92 broadcast_a=true bias=true normal",
		"2x72x136x70 transpose_b=true broadcast_b=true negative",
		"1x10x16390x12 transpose_a=true normal", // lines that are packed in pieces
		"3x9x65x5 broadcast_a=true transpose_b=true normal",
		"2x70x512x90 transpose_a=true type=bf16 normal",
		"1x138x520x264 type=f16 bias=true epilogue=gelu(x+d[n])*s[m]+r[batch,m,n] negative", // factors that tensor maps can describe, in all four combinations of transposition
		"3x72x520x136 transpose_a=true transpose_b=true type=bf16 broadcast_a=true normal",
		"1x140x264x301 transpose_b=true type=f16 normal",
		"1x72x2056x136 transpose_a=true type=bf16 bias=true normal",
		"2x9x2056x8 type=bf16 broadcast_b=true normal",
		"2x6x1042x100 transpose_a=true bias=true normal", // few rows, in all four combinations of transposition
		"1x70x1037x13 transpose_b=true bias=true negative",
		"1x21x1034x132 type=bf16 transpose_b=true normal",
		"1x1x576x528 type=bf16 transpose_b=true normal", // each block has as many lines as the passes of a stream take
		"2x100x2060x6 type=f16 bias=true negative",
		"4x2x576x148 type=bf16 transpose_b=true bias=true epilogue=silu(x)*s[m]+r[batch,m,n] normal", // few rows in many products: each block reads a long part of the wide factor
		"1x64x1100x74 type=bf16 transpose_a=true bias=true epilogue=gelu_tanh(x)+r[batch,m,n,f32]*w[batch] normal",
		"1x70x576x12 type=f16 transpose_b=true special",
		"1x5x320x90 transpose_b=true bias=true normal",
		"2x130x150x140 triangular_a=1 triangular_b=1 triangular_output=1 epilogue=where(x>100000,2,x)*s[n]+r[batch,m,n] special", // triangles
		"1x130x300x70 triangular_a=-1 triangular_b=1 transpose_a=true bias=true special",
		"1x72x136x150 triangular_b=-1 triangular_output=-1 transpose_b=true type=bf16 normal",
	},
	"conv2d": {
		"1x3x11x270 c_out=18 kernel=3 normal",
		"1x16x18x34 c_out=32 kernel=3 padding=1 bias=true negative",
		"1x6x15x21 c_out=9 kernel=3x4 stride=2x3 padding=1x5 dilation=2x1 groups=3 bias=true normal",
		"2x4x9x10 c_out=4 kernel=1 groups=4 negative",
		"1x5x8x40 c_out=33 kernel=5 padding=2 uniform01",
		"3x8x7x9 c_out=16 kernel=2 stride=2 groups=2 normal",
		"1x2x6x7 c_out=3 kernel=2 padding=4 normal",
		"1x3x6x1024 c_out=10 kernel=3 epilogue=gelu(x+q[c])*s[]+r[n,c,h,w] special",                                         // strips of the image, the last one incomplete
		"2x7x6x216 c_out=10 kernel=3 padding=1 normal",                                                                      // rows that begin at sectors of 32 bytes
		"1x16x5x301 c_out=140 groups=2 kernel=2x2 bias=true normal",                                                         // slightly wider than a strip
		"2x5x12x67 c_out=5 kernel=3x2 dilation=2x2 padding=2x1 bias=true epilogue=x*v[c,h,w,bf16]-u[n,c]+r[n,c,h,w] normal", // rows of odd length
		"1x16x3x110 c_out=70 kernel=3 normal",                                                                               // one row of outputs
		"1x40x9x19 c_out=200 kernel=3x5 padding=1x2 bias=true normal",                                                       // several steps over the channels and several blocks of rows
		"1x80x6x19 c_out=130 kernel=3x5 padding=1x2 normal",
		"1x20x9x40 c_out=65 kernel=7x1 padding=3x0 normal",
		"1x20x12x15 c_out=129 kernel=3 padding=1 normal",
		"1x20x27x29 c_out=70 kernel=4x8 stride=2 padding=1 dilation=1x3 normal",                     // a strided kernel, split into phases
		"3x516x7x13 c_out=130 kernel=1 stride=1x2 bias=true negative",                               // a 1x1 kernel with many channels
		"1x2080x4x14 c_out=280 kernel=1 groups=2 bias=true epilogue=gelu(x+q[c])+r[n,c,h,w] normal", // 1x1 kernels whose input a tensor map can describe
		"2x40x3x140 c_out=150 kernel=3 padding=1 bias=true epilogue=gelu(x+q[c])+r[n,c,h,w] normal", // input that a tensor map can describe, and long rows
		"2x64x9x76 c_out=260 kernel=2x3 stride=1x2 padding=0x2 dilation=2x3 groups=2 negative",
		"1x330x6x12 c_out=70 kernel=3x1 stride=2x1 padding=1x0 normal",     // many pipeline stages
		"2x3x7x260 c_out=130 kernel=7 stride=2 padding=3 bias=true normal", // few channels, which a tensor map can describe
		"1x4x5x136 c_out=80 kernel=1x3 dilation=1x2 groups=2 negative",
		"2x40x9x11 c_out=70 kernel=3 padding=1 type=bf16 bias=true normal", // 16-bit elements
		"1x136x9x40 c_out=280 kernel=1 type=f16 negative",                  // 16-bit input that a tensor map can describe
		"1x4112x4x10 c_out=70 kernel=1 groups=2 type=bf16 bias=true normal",
		"2x6x12x15 c_out=10 kernel=2x3 stride=2 padding=1 groups=2 type=f16 bias=true normal",
		"1x6x15x21 c_out=9 kernel=3x4 stride=2x3 padding=1x5 dilation=2x1 groups=3 layout=nhwc bias=true normal",
		"9x72x5x10 c_out=60 kernel=2x3 stride=2x1 padding=1 layout=nhwc bias=true epilogue=silu(x+q[c])*s[]+r[n,c,h,w] negative", // boxes that span several images, weights that stay in shared memory
		"1x72x6x47 c_out=140 kernel=3x4 padding=1 layout=nhwc normal",                                                            // boxes of one image, many pipeline stages
		"1x72x9x46 c_out=130 kernel=3 dilation=1x2 padding=1 type=bf16 layout=nhwc bias=true epilogue=gelu(x)*u[n,c]+r[n,c,h,w,f32]-p[h,w] normal",
		"1x136x4x9 c_out=40 kernel=3x4 padding=1 type=f16 layout=nhwc normal", // sums split into sixteen parts
		"9x264x3x17 c_out=70 kernel=1 type=f16 layout=nhwc normal",
		"2x3x29x21 c_out=69 kernel=7 stride=2 padding=3 type=bf16 layout=nhwc bias=true normal", // odd numbers of channels
	},
}

// check is one problem with the configurations to test on that problem.
type check struct {
	problem      *operator.Problem
	distribution string
	choices      []space.Configuration
	parts        []serves          // the parts of its space by template
	binaries     []*compile.Binary // of the reference and the choices, if they were compiled together with other problems
}

// kernels returns the reference and the chosen configurations as kernels.
func (c check) kernels(t *testing.T) []operator.Kernel {
	t.Helper()
	reference, err := c.problem.Reference()
	must.OK(t, err)
	all := []operator.Kernel{reference}
	for _, choice := range c.choices {
		k, err := c.problem.Kernel(choice)
		must.OK(t, err)
		all = append(all, k)
	}
	return all
}

func TestTemplatesMatchReferences(t *testing.T) {
	inFull(t)
	shared, frame := map[string]bool{}, meetings{}
	files := map[string]bool{}
	for _, name := range operator.OperatorNames() {
		o := find(t, name)
		d := openEmulator(t)
		checks := coveringChecks(t, o, d.Info().Limits, shared, frame, files)
		t.Run(name, func(t *testing.T) {
			var kernels []operator.Kernel
			for _, c := range checks {
				kernels = append(kernels, c.kernels(t)...)
			}
			binaries := compileTogether(t, d, kernels, mostTogether)
			for _, c := range checks {
				c.binaries, binaries = binaries[:1+len(c.choices)], binaries[1+len(c.choices):]
				t.Run(c.problem.String()+" "+c.distribution, func(t *testing.T) {
					t.Parallel()
					prove(t, d, c)
				})
			}
		})
	}
	for value, proven := range shared {
		if !proven && endurance.Full() {
			t.Errorf("%s: no problem of this test allows it, of no operator that has it", value)
		}
	}
}

// coveringChecks chooses configurations so that every value of every tunable of every template is tested on some
// problem. Of an integer tunable with more than four values, coveringChecks tests the first, a middle and the last one,
// or all values if AUTOTUNE_ENDURE is set. coveringChecks tests a template on each problem that has a trait with which
// the template's file was not tested before. The tunables of a kernel file that several convolutions or row operators
// share are tested for one of these operators only. The argument shared records which values of shared tunables were
// tested, and frame records the traits of the tested problems. In tests that do not run in full, one configuration
// tests each kernel file (files lists the tested files), and at least one template tests each operator.
func coveringChecks(t *testing.T, o *operator.Operator, limits operator.Limits, shared map[string]bool, frame meetings, files map[string]bool) []check {
	t.Helper()
	missing := map[string]bool{}
	of := map[string]bool{} // the keys of missing that are of the shared kernel
	for _, template := range o.Templates {
		_, packed := template.Source.Includes["packed_conv.cuh"]
		gathered := template.Source.File == "convolution_gathered_gemm.cu"
		mapped := template.Source.File == "convolution_tma_gemm.cu"
		boxed := template.Source.File == "convolution_tma_conv.cu"
		_, channels := template.Source.Includes["channels_output.cuh"]
		_, rows := template.Source.Includes["row_state.cuh"]
		for _, tunable := range template.Tunables {
			for _, v := range proven(tunable.Values) {
				key := fmt.Sprint(template.Name, " ", tunable.Name, "=", v)
				of[key] = packed || gathered || mapped || boxed || channels || rows
				missing[key] = !of[key] || !shared[key]
			}
		}
	}
	full := endurance.Full()
	maps.DeleteFunc(missing, func(_ string, wanted bool) bool { return !wanted || !full })
	rng := rand.New(rand.NewPCG(1, 2))
	var checks []check
	met := meetings{}
	if ofRows(o) {
		met = frame
	}
	for n, text := range problemsOf(o) {
		serving := map[string][]serves{}
		limits := limits
		if n%2 == 1 { // few multiprocessors, so that persistent blocks compute several tiles
			limits.SMs = 8
		}
		for _, mode := range o.MathModes {
			if strings.Contains(text, " type=") && mode != "fp32" {
				continue // products of 16-bit numbers are exact, so one mode is enough
			}
			served := map[string]bool{}
			if _, variant := o.MathVariants[mode]; variant { // the kernels are the same; TestTiesAreRounded tests the difference
				for name := range serving {
					served[name] = true
				}
			}
			for _, device := range []operator.Limits{limits, smaller(limits, n)} {
				c := check{}
				c.problem, c.distribution = problem(t, o, text, mode, device)
				c.parts = partsOf(t, c.problem)
				for _, s := range c.parts {
					if !served[s.template] {
						s.check = len(checks)
						serving[s.template] = append(serving[s.template], s)
					}
				}
				for name := range serving {
					served[name] = true
				}
				checks = append(checks, c)
			}
		}
		// Test each template in one of its math modes, which alternate by problem, so that most problems need one
		// reference. Each problem tests only some of the templates that share a file or include packed_conv.cuh,
		// because most of their code is the same for all problems.
		for i, template := range o.Templates {
			shares := slices.ContainsFunc(o.Templates[:i], func(other *operator.Template) bool { return other.Source.File == template.Source.File })
			_, packed := template.Source.Includes["packed_conv.cuh"]
			if modes := serving[template.Name]; len(modes) > 0 && (!shares || n%3 == 0) && (!packed || (n+i)%2 == 0) {
				s := modes[n/2%len(modes)] // cycles through all modes even if only every second problem uses the template
				p := checks[s.check].problem
				wanted := met.more(template.Source.File, traitsOf(o, p, text))
				if !full {
					wanted = !files[template.Source.File] || n == 0 && i == 0
					files[template.Source.File] = true
				}
				if wanted {
					checks[s.check].choices = appendMost(checks[s.check].choices, s, missing, rng)
				}
			}
		}
	}
	for _, i := range withChoicesFirst(checks) { // values that are still missing need more choices
		for _, s := range checks[i].parts {
			for before := len(missing) + 1; len(missing) < before && lacks(missing, s.template); {
				before = len(missing)
				chosen := appendMost(checks[i].choices, s, missing, rng)
				if len(missing) < before {
					checks[i].choices = chosen
				}
			}
		}
	}
	checks = slices.DeleteFunc(checks, func(c check) bool { return len(c.choices) == 0 })
	for value, one := range of {
		if one {
			shared[value] = shared[value] || !missing[value]
		} else if missing[value] && full {
			t.Errorf("%s %s: no problem of this test allows it", o.Name, value)
		}
	}
	return checks
}

// proven returns those values of a tunable with which the tests run kernels.
func proven(values []expr.Value) []expr.Value {
	number := !slices.ContainsFunc(values, func(v expr.Value) bool { return v.Kind() != expr.KindInt })
	if len(values) <= 4 || !number || os.Getenv(endurance.Variable) != "" {
		return values
	}
	return []expr.Value{values[0], values[len(values)/2], values[len(values)-1]}
}

// withChoicesFirst returns the indices of checks; the checks for which configurations are already chosen come first.
func withChoicesFirst(checks []check) (order []int) {
	var rest []int
	for i, c := range checks {
		if len(c.choices) > 0 {
			order = append(order, i)
		} else {
			rest = append(rest, i)
		}
	}
	return append(order, rest...)
}

// smaller returns the limits of a GPU without warpgroup products, with many multiprocessors only if n is odd.
func smaller(limits operator.Limits, n int) operator.Limits {
	limits.Arch, limits.Target, limits.SMs, limits.MaxSharedPerBlock = 80, "sm_80", 6, 163<<10
	if n%2 == 1 {
		limits.Arch, limits.Target, limits.SMs, limits.MaxSharedPerBlock = 89, "sm_89", 128, 99<<10
	}
	return limits
}

// serves is the range of a problem's search space that contains the configurations of one template.
type serves struct {
	*space.Space
	template   string
	first, end int64
	check      int
}

func partsOf(t *testing.T, p *operator.Problem) []serves {
	t.Helper()
	s, err := p.Space(t.Context())
	must.OK(t, err)
	var parts []serves
	for part := range s.Parts() {
		if first, end := s.Range(part); first < end {
			parts = append(parts, serves{Space: s, template: s.At(first).Template, first: first, end: end})
		}
	}
	return parts
}

// lacks tells whether a template has a tunable with a value that no test has run yet.
func lacks(missing map[string]bool, template string) bool {
	for key := range missing {
		if strings.HasPrefix(key, template+" ") {
			return true
		}
	}
	return false
}

// appendMost adds the configuration with the most tunable values that no test has run yet, or any configuration if all
// values have been tested.
func appendMost(chosen []space.Configuration, s serves, missing map[string]bool, rng *rand.Rand) []space.Configuration {
	tried := int64(2000)
	if !lacks(missing, s.template) {
		tried = 1
	}
	var best space.Configuration
	most := -1
	size := s.end - s.first
	start := rng.Int64N(size)
	for i := range min(tried, size) {
		at := (start + i) % size // a small space is searched completely
		if size > tried {
			at = rng.Int64N(size)
		}
		c := s.At(s.first + at)
		count := 0
		for _, v := range c.Values {
			if missing[fmt.Sprint(c.Template, " ", v.Name, "=", v)] {
				count++
			}
		}
		if count > most {
			best, most = c, count
		}
	}
	for _, v := range best.Values {
		delete(missing, fmt.Sprint(best.Template, " ", v.Name, "=", v))
	}
	return append(chosen, best)
}

// problem binds the problem in a text such as "2x3x45x70 kernel=11 negative", whose last word is the distribution.
func problem(t *testing.T, o *operator.Operator, text, mode string, limits operator.Limits) (p *operator.Problem, distribution string) {
	t.Helper()
	fields := strings.Fields(text)
	shape, err := operator.ParseShape(fields[0])
	must.OK(t, err)
	set := map[string]string{}
	for _, field := range fields[1 : len(fields)-1] {
		name, value, _ := strings.Cut(field, "=")
		set[name] = value
	}
	p, err = o.Bind(operator.Request{Shape: shape, Parameters: set, Math: mode}, limits)
	must.OK(t, err)
	return p, fields[len(fields)-1]
}

// prove runs configurations of one problem and compares their outputs with the reference's.
func prove(t *testing.T, d device.Device, c check) {
	ctx := context.Background()
	kernels := c.kernels(t)
	if c.binaries == nil {
		c.binaries = compileTogether(t, d, kernels, mostTogether)
	}
	binary := func(i int) *compile.Binary {
		if c.binaries[i] != nil {
			return c.binaries[i]
		}
		return compileFor(t, d, kernels[i])
	}
	protocol := device.DefaultProtocol()
	protocol.Samples, protocol.MinSamples, protocol.WarmUp, protocol.Distribution = 1, 1, 0, c.distribution
	protocol.MeasureTime = 10 * time.Millisecond // a kernel slower than this is launched once
	protocol.LaunchTimeout = 2 * time.Minute     // a deadlock is detected by other means; a busy machine is only slow
	session, err := d.Open(ctx, c.problem, binary(0), protocol)
	must.OK(t, err)
	defer session.Close()
	for i, choice := range c.choices {
		v := device.Variant{Configuration: choice, Kernel: kernels[1+i], Binary: binary(1 + i)}
		e, err := session.Evaluate(ctx, v, 0)
		must.OK(t, err)
		if e.Status != trial.OK {
			t.Errorf("%s: %s: %s", choice, e.Status, e.Message)
		}
	}
	// Run the problem's kernels also on inputs of which a few are NaN or infinite, unless the problem is so large that
	// the test would take too long.
	special := device.Inputs{Distribution: "special", Seed: 2}
	if c.problem.Flops > 4e6 {
		return
	}
	must.OK(t, session.Refill(ctx, special))
	for i, choice := range c.choices {
		v := device.Variant{Configuration: choice, Kernel: kernels[1+i], Binary: binary(1 + i)}
		e, _, err := session.Check(ctx, v, device.Check{})
		must.OK(t, err)
		if e.Status != trial.OK {
			t.Errorf("%s: on %s inputs: %s: %s", choice, special.Distribution, e.Status, e.Message)
		}
	}
}

// rowProblems are the problems on which the tests run all row operators, i.e. reductions and scans: aligned and
// unaligned rows, columns, and long rows.
var rowProblems = []string{
	"5x1003x1 normal", // no two rows begin alike
	"3x2048x1 type=bf16 negative",
	"19x24x1 uniform01",
	"2x65x40 normal",
	"3x31x7 special",
	"2x12301x1 type=f16 normal",
	"1x196601x1 negative",
	"1x1536x264 type=bf16 normal",
}

// problemsOf returns the problems on which the tests run an operator's templates.
func problemsOf(o *operator.Operator) []string {
	if ofRows(o) {
		return rowProblems
	}
	return problems[o.Name]
}

// ofRows tells whether an operator reduces or scans along one dimension.
func ofRows(o *operator.Operator) bool {
	return slices.Equal(o.Shape, []string{"outer", "length", "inner"}) && problems[o.Name] == nil
}

// meetings records with which traits of problems each kernel file was tested. Traits such as the type decide how a
// kernel packs, rounds, and reads over edges, so a problem without a new trait would reveal few faults.
type meetings map[string]bool

// more tells whether a problem has a trait that is new for a file, and records the problem's traits for the file.
func (m meetings) more(file string, traits []string) bool {
	before := len(m)
	for _, trait := range traits {
		m[file+" "+trait] = true
	}
	return len(m) > before
}

// traitsOf returns the traits of a problem that is given as text. Row operators share kernels, but which special inputs
// they handle is a trait of each operator.
func traitsOf(o *operator.Operator, p *operator.Problem, text string) []string {
	all := append(extents(p), words(p, text)...)
	for i, trait := range all {
		if trait == "negative" || trait == "special" {
			all[i] = o.Name + " " + trait
		}
	}
	return all
}

// extents returns the traits of a shape: the vector width that divides each dimension, and which dimensions are long.
func extents(p *operator.Problem) []string {
	var all []string
	for i, size := range p.Shape {
		vector := int64(8)
		for size%vector != 0 {
			vector /= 2
		}
		all = append(all, fmt.Sprint("dimension ", i, " by ", vector), fmt.Sprint("dimension ", i, " long ", size > 1024))
	}
	return all
}

var sizes = regexp.MustCompile(`^\d+(x\d+)*$`)

// words returns the traits of everything but the shape: the math mode, the element type, and whether the sizes of
// windows are 1, even, odd, or differ by axis.
func words(p *operator.Problem, text string) []string {
	all := []string{"math " + p.Math}
	for _, field := range strings.Fields(text)[1:] {
		if field == "normal" || field == "uniform01" {
			continue // all kernels are tested with these inputs
		}
		name, value, _ := strings.Cut(field, "=")
		if first, _, more := strings.Cut(value, "x"); value != "1" && sizes.MatchString(value) {
			field = fmt.Sprint(name, " by axis ", more, ", even ", strings.ContainsAny(first[len(first)-1:], "02468"))
		}
		all = append(all, field)
	}
	return all
}
