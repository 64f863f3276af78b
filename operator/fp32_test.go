package operator_test

import (
	"math"
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/endurance"
	"autotune/operator"
	"autotune/space"
)

// ofCuDNN is the largest error of cuDNN's convolutions in fp32 that add up 48 products of inputs in [0, 1).
const ofCuDNN = 7.1e-7

// In math mode fp32 a convolution is as precise as one that adds up in fp32: at most twice cuDNN's error, which
// grows with the root of the products' number. The largest error is what counts, so that many outputs are
// looked at.
func TestConvolutionsInFp32(t *testing.T) {
	inFull(t)
	for _, test := range endurance.Some([]struct {
		operator, problem string
		terms             float64
	}{
		{"conv2d", "2x12x16x64 c_out=64 kernel=2 stride=2 uniform01", 48}, // which nobody needs to pack
		{"conv2d", "1x16x8x40 c_out=66 kernel=3 bias=true uniform01", 144},
		{"conv1d", "1x40x60 c_out=70 kernel=7 uniform01", 280}, // sums move to others
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

// imagesApart fills the second image with a millionth of the first's numbers, and weights with numbers of one sign.
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

// Of two images, one a millionth of the other, each is right within its own magnitude.
func TestImagesFarApart(t *testing.T) {
	inFull(t)
	o := filledConvolution(t, "conv1d", imagesApart)
	proveSome(t, o, "2x20x70 c_out=70 kernel=3 normal", "fp32", func(p *operator.Problem) []space.Configuration { return p.Defaults(t.Context()) })
	proveSome(t, o, "2x20x70 c_out=70 kernel=3 normal", "tf32", func(p *operator.Problem) []space.Configuration { return scaledOnes(t, p) })
	proveGuesses(t, filledConvolution(t, "conv2d", imagesApart), "2x13x6x70 c_out=70 kernel=3 normal")
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
	must(t, err)
	defer session.Close()
	for i, choice := range c.choices {
		o, err := session.Evaluate(t.Context(), device.Variant{Configuration: choice, Kernel: kernels[1+i], Binary: binaries[1+i]}, 0)
		must(t, err)
		if o.Status != trial.OK || o.MaxAbsError > most {
			t.Errorf("%s: %s %s, an error of %.3g, at most %.3g is right", choice, o.Status, o.Message, o.MaxAbsError, most)
		} else {
			t.Logf("%s: %.3g", choice.Template, o.MaxAbsError)
		}
	}
}
