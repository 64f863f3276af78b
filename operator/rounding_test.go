package operator_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/internal/test/endurance"
	"autotune/internal/test/torchvectors"
	"autotune/operator"
	"autotune/space"
)

// tied are problems that are one product of matrices, 16 deep: y[o][p] is the sum over c
// of w[o][c] * x[c][p].
var tied = map[string]string{
	"conv1d":           "1x16x32 c_out=40 kernel=1 normal",
	"conv2d":           "1x16x1x32 c_out=40 kernel=1 normal",
	"conv3d":           "1x16x1x2x16 c_out=40 kernel=1 normal",
	"conv_separable2d": "1x16x1x32 c_out=40 kernel=1 normal", // of inputs times one
	"conv_transpose1d": "1x16x32 c_out=40 kernel=1 normal",
	"conv_transpose2d": "1x16x1x32 c_out=40 kernel=1 normal",
	"conv_transpose3d": "1x16x1x2x16 c_out=40 kernel=1 normal",
	"matmul":           "1x40x16x32 normal",
}

const tiedDepth, tiedRows, tiedColumns = 16, 40, 32

// roundings round integers from 2048 to 4095 and their negatives to TF32, which has the
// even ones among them: every odd one lies half way between two.
var roundings = map[string]func(float64) float64{
	"tf32":      func(v float64) float64 { return math.Copysign(2*math.Floor((math.Abs(v)+1)/2), v) },
	"tf32_even": func(v float64) float64 { return 2 * math.RoundToEven(v/2) },
}

// Both roundings take ties where they should: references against float64 sums of factors
// rounded here, templates' defaults against those references. The convolutions' templates
// are of the same headers; conv2d and a transposed one prove them, in tf32, which
// PyTorch's vectors hold too, those that pack factors, as they are and scaled.
func TestTiesAreRounded(t *testing.T) {
	inFull(t)
	for _, name := range operator.OperatorNames() {
		o := find(t, name)
		if (tied[name] == "") != (o.MathVariants["tf32_even"].Of != "tf32") {
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
					must(t, err)
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

// proveBoxes proves what takes channels-last pixels by boxes: they round, or the copy engine or a launch before does.
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

// ties are inputs, half of which lie on ties, and what the rounded ones give.
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

// The two rules differ by far more than kernels are let off with.
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
