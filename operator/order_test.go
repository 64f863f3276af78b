package operator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// orderedOperator has a tensor of four axes whose order in memory a parameter names.
const orderedOperator = `
operator: scale
summary: Doubles.
shape: [n, c, h, w]
parameters:
  layout: {type: word, choices: [nchw, nhwc], default: nchw, later: true}
tensors:
  - {name: x, order: layout, role: input, shape: [n, c, h, w]}
  - {name: y, role: output, shape: [n, c, h, w]}
cost: [8*n*c*h*w]
reference: reference.cu
templates:
  - name: direct
    source: direct.cu
    tunables: {threads: [64]}
    launch: {block: [threads, 1, 1], grid: [1, 1, 1]}
    default: {threads: 64}
`

func orderedProblem(t *testing.T, layout string) *Problem {
	t.Helper()
	o := loaded(t, operatorFiles(orderedOperator))
	p, err := o.Bind(Request{Shape: []int64{2, 3, 4, 5}, Parameters: map[string]string{"layout": layout}}, Limits{Arch: 90})
	must(t, err)
	return p
}

func TestParameterNamesOrder(t *testing.T) {
	for layout, want := range map[string]string{
		"nchw": "scale 2x3x4x5: 2x3x4x5 [0 1 2 3] [0 0 1 2]",
		"nhwc": "scale 2x3x4x5 layout=nhwc: 2x3x4x5, in memory 2x4x5x3 [0 2 3 1] [0 1 0 2]",
	} {
		p := orderedProblem(t, layout)
		x := p.Arguments[0]
		if got := fmt.Sprintf("%s: %s %v %v", p, x.ShapeText(), x.Axes(), x.Coordinates(7)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if y := p.Arguments[1]; y.Order != nil {
			t.Errorf("y, which no parameter orders, has the order %v", y.Order)
		}
		if got := p.Operator.Orders(); !slices.Equal(got, []string{"layout"}) {
			t.Errorf("the parameters that name orders are %v", got)
		}
	}
	if canonical(statements(orderedProblem(t, "nchw").Arguments)) == canonical(statements(orderedProblem(t, "nhwc").Arguments)) {
		t.Error("problems of two orders are one by their digest")
	}
}

func TestParameterNamesOrderWrongly(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"order: layout", "order: layouts", "op.yaml:8:22: unknown order `layouts`; did you mean `layout`?"},
		{"[nchw, nhwc]", "[nchw, chwn]", "op.yaml:8:22: `layout` is a parameter of words, and its word `chwn` is no order of a tensor in memory; write choices: [nchw, nhwc]"},
		{"role: input,", "role: input, fill: x.npy,", "op.yaml:8:49: a file holds elements in one order; that of `x` is named by `layout`; fill it by a kernel, or from a distribution"},
		{"role: input, shape: [n, c, h, w]", "value: 1", "op.yaml:8:22: `order` has no place here: a scalar is passed by value"},
	} {
		_, err := Load(operatorFiles(strings.Replace(orderedOperator, test.from, test.to, 1)), ".")
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.to, err, test.want)
		}
	}
}

// Coordinates lead back to the place in memory, by strides that the order gives.
func TestCoordinatesInvert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(1, 300), 1, 5).Draw(t, "shape")
		a := Argument{Shape: shape, Order: orderOf(rapid.SampledFrom([]string{channelsSecond, channelsLast}).Draw(t, "layout"), len(shape))}
		size := int64(1)
		for _, n := range shape {
			size *= n
		}
		index, back := rapid.Int64Range(0, size-1).Draw(t, "index"), int64(0)
		at := a.Coordinates(index)
		for _, axis := range a.Axes() {
			back = back*shape[axis] + at[axis]
		}
		if back != index || a.Order != nil && a.Order[len(shape)-1] != 1 {
			t.Fatalf("element %d of %v in the order %v is %v, which leads back to %d", index, shape, a.Order, at, back)
		}
	})
}
