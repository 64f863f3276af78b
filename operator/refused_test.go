package operator_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/torchvectors"
	"autotune/operator"
)

// rowAnswers maps operators that reduce or scan rows to functions that compute them by their definitions.
var rowAnswers = map[string]func(row []float64) []float64{
	"softmax": func(row []float64) []float64 {
		most, sum := slices.Max(row), 0.0
		return mapped(mapped(row, func(x float64) float64 { e := math.Exp(x - most); sum += e; return e }),
			func(e float64) float64 { return e / sum })
	},
	"log_softmax": func(row []float64) []float64 {
		most, sum := slices.Max(row), 0.0
		for _, x := range row {
			sum += math.Exp(x - most)
		}
		return mapped(row, func(x float64) float64 { return x - most - math.Log(sum) })
	},
	"sum":  func(row []float64) []float64 { return []float64{total(row)} },
	"mean": func(row []float64) []float64 { return []float64{total(row) / float64(len(row))} },
	"prod": func(row []float64) []float64 {
		all := 1.0
		for _, x := range row {
			all *= x
		}
		return []float64{all}
	},
	"layer_norm": layerNorm,
	"group_norm": layerNorm,
	"batch_norm": layerNorm,
	"rms_norm":   func(row []float64) []float64 { return rooted(row, 1e-5) },
	"normalize": func(row []float64) []float64 {
		over := size(row)
		return mapped(row, func(x float64) float64 { return x / over })
	},
	"norm":   func(row []float64) []float64 { return []float64{size(row)} },
	"argmax": func(row []float64) []float64 { return []float64{float64(slices.Index(row, slices.Max(row)))} },
	"argmin": func(row []float64) []float64 { return []float64{float64(slices.Index(row, slices.Min(row)))} },
	"cumsum": func(row []float64) []float64 { return running(row, func(a, b float64) float64 { return a + b }) },
	"cross_entropy": func(row []float64) []float64 { // for the first label
		sum := total(mapped(row, math.Exp))
		return []float64{math.Log(sum) - row[0]}
	},
	"triplet_margin_loss": func(row []float64) []float64 { // for the row and the same row shifted
		one, other := moved(row, 1), moved(row, 7)
		return []float64{1 + math.Abs(one-other)}
	},
	"masked_cumsum": func(row []float64) []float64 { return running(row, func(a, b float64) float64 { return a + b }) },
	"cumprod":       func(row []float64) []float64 { return running(row, func(a, b float64) float64 { return a * b }) },
	"max":           func(row []float64) []float64 { return []float64{slices.Max(row)} },
	"min":           func(row []float64) []float64 { return []float64{slices.Min(row)} },
}

// moved returns the distance between a row and the same row shifted by some elements.
func moved(row []float64, by int) float64 {
	apart := make([]float64, len(row))
	for i, x := range row {
		apart[i] = x - row[(i+by)%len(row)]
	}
	return size(apart)
}

func layerNorm(row []float64) []float64 {
	mean := total(row) / float64(len(row))
	apart := mapped(row, func(x float64) float64 { return x - mean })
	return rooted(apart, 1e-5)
}

func mapped(row []float64, f func(float64) float64) []float64 {
	all := make([]float64, len(row))
	for i, x := range row {
		all[i] = f(x)
	}
	return all
}

// running computes a scan: it combines each element with the result for the elements before this element.
func running(row []float64, both func(a, b float64) float64) []float64 {
	all := slices.Clone(row)
	for i := 1; i < len(all); i++ {
		all[i] = both(all[i-1], all[i])
	}
	return all
}

// size returns the Euclidean norm of a row.
func size(row []float64) float64 {
	return math.Sqrt(total(mapped(row, func(x float64) float64 { return x * x })))
}

// rooted divides each element by the root of the row's mean square.
func rooted(row []float64, eps float64) []float64 {
	over := math.Sqrt(size(row)*size(row)/float64(len(row)) + eps)
	return mapped(row, func(x float64) float64 { return x / over })
}

func total(row []float64) (sum float64) {
	for _, x := range row {
		sum += x
	}
	return sum
}

// closeTo tells whether a device would accept an element within the argument's tolerance.
func closeTo(a operator.Argument, got, want float64) bool {
	return math.Abs(got-want) <= a.ATol+a.RTol*math.Abs(want)
}

// The functions in rowAnswers compute the same results as PyTorch.
func TestRowAnswersMatchPyTorch(t *testing.T) {
	for name, answer := range rowAnswers {
		for _, c := range readVectors(t, name).Cases {
			if c.Name != "a row" && c.Name != "one element" || len(c.Inputs) > 1 {
				continue
			}
			length := int(c.Shape[1])
			var got []float64
			for i := 0; i < len(c.Inputs["x"]); i += length {
				got = append(got, answer(widened(c.Inputs["x"][i:i+length]))...)
			}
			for i, want := range c.Output.Data {
				if math.Abs(got[i]-float64(want)) > 1e-6*math.Max(1, math.Abs(got[i])) {
					t.Errorf("%s, %s: element %d is %g, PyTorch's is %g", name, c.Name, i, got[i], want)
				}
			}
		}
	}
}

func widened(x torchvectors.Floats) []float64 {
	all := make([]float64, len(x))
	for i, v := range x {
		all[i] = float64(v)
	}
	return all
}

// The tolerance must not accept wrong outputs: zeros, a copy of the input, or the correct output for other input
// numbers. In long rows the outputs of softmax are tiny, so the tolerance must be tiny as well.
func TestWrongAnswersOfRowsAreRefused(t *testing.T) {
	for _, o := range operators(t) {
		if !ofRows(o) && rowAnswers[o.Name] == nil {
			continue
		}
		for _, length := range endurance.Some([]int64{37, 4096, 393216}, 2) {
			for _, word := range []string{"f32", "bf16", "f16"} {
				request := operator.Request{Shape: []int64{1, length, 1}, Parameters: map[string]string{"type": word}}
				if !ofRows(o) { // a single channel
					request.Shape = []int64{1, 1, length}[3-len(o.Shape):]
				}
				if o.Name == "batch_norm" {
					request.Parameters["training"] = "true"
				}
				p, err := o.Bind(request, operator.Limits{Arch: 90})
				must.OK(t, err)
				refuses(t, p, length)
			}
		}
	}
}

func refuses(t *testing.T, p *operator.Problem, length int64) {
	t.Helper()
	answer := rowAnswers[p.Operator.Name]
	if answer == nil {
		t.Fatalf("%s has no definition in rowAnswers", p.Operator.Name)
	}
	x, other := drawn(p, length, 1), drawn(p, length, 3)
	want, output := answer(x), p.Output()
	for what, wrong := range map[string][]float64{"zeros": make([]float64, len(want)), "the input": x, "the answer to other numbers": answer(other)} {
		if len(wrong) != len(want) || p.Operator.Name == "norm" && length > 4096 {
			continue // the shape differs from the output's, or the norms of many numbers are equal in 16 bits
		}
		right := 0
		for i := range want {
			if closeTo(output, wrong[i], want[i]) {
				right++
			}
		}
		// A quarter of a wrong output's elements may be close to the correct ones by chance.
		if right > len(want)/4 {
			t.Errorf("%s: %s are right in %d of %d elements (atol %g, rtol %g)", p, what, right, len(want), output.ATol, output.RTol)
		}
	}
}

// drawn draws the numbers of a problem's first input, from the range that a search would draw them from.
func drawn(p *operator.Problem, length int64, seed uint64) []float64 {
	random := rand.New(rand.NewPCG(seed, 7))
	all := make([]float64, length)
	for i := range all {
		all[i] = random.NormFloat64()
		if strings.HasSuffix(p.Operator.Name, "_norm") { // normalizing normal numbers would return nearly the input
			all[i] = -0.5 - random.Float64()
		}
		if fill := p.Arguments[0].Fill; fill != nil {
			all[i] = fill.Numbers[0] + (fill.Numbers[1]-fill.Numbers[0])*random.Float64()
		}
	}
	return all
}

func operators(t *testing.T) []*operator.Operator {
	t.Helper()
	all, err := operator.Operators()
	must.OK(t, err)
	return all
}

// The tolerance of an expression must not accept zeros, the input, or the output for other input numbers, whatever the
// magnitude of the outputs.
func TestWrongAnswersOfExpressionsAreRefused(t *testing.T) {
	o := find(t, "elementwise")
	d := openEmulator(t)
	for _, word := range []string{"f32", "bf16", "f16"} {
		for _, f := range []string{"gelu(x)", "tanh(x)*1e-3", "sigmoid(x)", "(x+3)*2"} {
			r := operator.Request{Shape: []int64{1, 1, 256}, Parameters: map[string]string{"f": f, "type": word}}
			p, err := o.Bind(r, d.Info().Limits)
			must.OK(t, err)
			k, err := p.Reference()
			must.OK(t, err)
			b := compileFor(t, d, k)
			answer := func(first int) (x, y []float32) {
				for i := range 256 {
					x = append(x, float32((i*37+first)%256)/64-2) // exact in each of the types
				}
				return x, runKernel(t, d, p, k, b, map[string]torchvectors.Floats{"x": x})
			}
			x, want := answer(1)
			_, other := answer(77)
			for what, wrong := range map[string][]float32{"zeros": make([]float32, len(want)), "the input": x, "the answer to other numbers": other} {
				right := 0
				for i := range want {
					if closeTo(p.Output(), float64(wrong[i]), float64(want[i])) {
						right++
					}
				}
				if right > len(want)/8 {
					t.Errorf("%s: %s are right in %d of %d elements", p, what, right, len(want))
				}
			}
		}
	}
}

// attended computes attention for one query: the average of the values, weighted by the softmax of the query's products
// with the keys times scale. numbers contains the query, the keys and the values, in this order.
func attended(numbers []float64, keys, width int, scale float64) []float64 {
	query, key, value := numbers[:width], numbers[width:width*(1+keys)], numbers[width*(1+keys):]
	weights, sum := make([]float64, keys), 0.0
	for j := range weights {
		product := 0.0
		for i := range query {
			product += query[i] * key[j*width+i]
		}
		weights[j] = math.Exp(product * scale)
		sum += weights[j]
	}
	averages := make([]float64, width)
	for j, weight := range weights {
		for i := range averages {
			averages[i] += weight / sum * value[j*width+i]
		}
	}
	return averages
}

// The tolerance of attention must not accept zeros, the output for other input numbers, an unweighted average, or a
// softmax without the scale. Averages of many values are small, so the tolerance must be small as well.
func TestWrongAttentionIsRefused(t *testing.T) {
	o := find(t, "scaled_dot_product_attention")
	const width = 64
	for _, keys := range []int{37, 4096, 16384} {
		drawn := func(seed uint64) []float64 {
			random, numbers := rand.New(rand.NewPCG(seed, 5)), make([]float64, width*(1+2*keys))
			for i := range numbers {
				numbers[i] = random.NormFloat64()
			}
			return numbers
		}
		numbers := drawn(1)
		want := attended(numbers, keys, width, 0.125)
		for _, word := range []string{"f32", "bf16", "f16"} {
			p, err := o.Bind(operator.Request{Shape: []int64{1, 1, 1, int64(keys), width}, Parameters: map[string]string{"type": word}}, operator.Limits{Arch: 90})
			must.OK(t, err)
			for what, wrong := range map[string][]float64{"zeros": make([]float64, width), "no weights": attended(numbers, keys, width, 0), "no scale": attended(numbers, keys, width, 1), "other numbers": attended(drawn(2), keys, width, 0.125)} {
				right := 0
				for i := range want {
					if closeTo(p.Output(), wrong[i], want[i]) {
						right++
					}
				}
				if right > width/4 {
					t.Error(fmt.Sprint(p), what, "are right in", right, "of", width, "elements")
				}
			}
		}
	}
}
