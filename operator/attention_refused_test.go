package operator_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"autotune/operator"
)

// attended are averages of values by the softmax of a query's products with keys, times scale; one of
// query, keys and values lies behind the other in numbers.
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

// The tolerance of attention lets pass neither zeros nor the answer to other numbers. Nor does it let pass
// values that are not weighed, or by products that are not scaled. Averages of many values are small.
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
			must(t, err)
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
