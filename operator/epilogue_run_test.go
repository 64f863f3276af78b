package operator_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"autotune/internal/lists"
	"autotune/internal/test/must"
	"autotune/internal/test/torchvectors"
	"autotune/operator"
	"autotune/space"
)

// drawnEpilogue is a random epilogue of matmul, with a function that evaluates the epilogue in float64.
type drawnEpilogue struct {
	text string
	of   value
}

type value func(x float64, beside map[string]float64) float64

// drawer draws random epilogues in which rounding errors remain small.
type drawer struct {
	*rand.Rand
	tensors []string // as they are named
}

func (d *drawer) pick(of ...string) string { return of[d.IntN(len(of))] }

func (d *drawer) leaf() drawnEpilogue {
	switch d.IntN(4) {
	case 0:
		return drawnEpilogue{"x", func(x float64, _ map[string]float64) float64 { return x }}
	case 1:
		n := float64(d.IntN(16)-8) / 4
		return drawnEpilogue{fmt.Sprintf("(%v)", n), func(float64, map[string]float64) float64 { return n }}
	}
	item := d.pick(d.tensors...)
	name, _, _ := strings.Cut(item, "[")
	return drawnEpilogue{item, func(_ float64, beside map[string]float64) float64 { return beside[name] }}
}

func (d *drawer) draw(depth int) drawnEpilogue {
	if depth == 0 {
		return d.leaf()
	}
	a, b := d.draw(depth-1), d.draw(d.IntN(depth))
	binary := map[string]func(a, b float64) float64{
		"+": func(a, b float64) float64 { return a + b }, "-": func(a, b float64) float64 { return a - b },
		"*": func(a, b float64) float64 { return a * b },
		"/": func(a, b float64) float64 { return a / (1 + math.Abs(b)) },
	}
	functions := map[string]func(a float64) float64{
		"relu": func(a float64) float64 { return max(a, 0) }, "abs": math.Abs, "tanh": math.Tanh, "erf": math.Erf,
		"sigmoid":    func(a float64) float64 { return 1 / (1 + math.Exp(-a)) },
		"silu":       func(a float64) float64 { return a / (1 + math.Exp(-a)) },
		"gelu":       func(a float64) float64 { return a / 2 * (1 + math.Erf(a/math.Sqrt2)) },
		"leaky_relu": func(a float64) float64 { return max(a, a/100) },
		"f32":        func(a float64) float64 { return a },
		"-":          func(a float64) float64 { return -a },
	}
	switch d.IntN(5) {
	case 0, 1:
		op := d.pick("+", "-", "*", "/")
		of, form := binary[op], "(%s)"+op+"(%s)"
		if op == "/" {
			form = "(%s)/(1+abs(%s))"
		}
		return drawnEpilogue{fmt.Sprintf(form, a.text, b.text), func(x float64, t map[string]float64) float64 {
			return of(a.of(x, t), b.of(x, t))
		}}
	case 2:
		name, of := d.pick("min", "max"), map[string]func(a, b float64) float64{"min": math.Min, "max": math.Max}
		return drawnEpilogue{fmt.Sprintf("%s(%s,%s)", name, a.text, b.text), func(x float64, t map[string]float64) float64 {
			return of[name](a.of(x, t), b.of(x, t))
		}}
	case 3: // near equality it hardly matters which value is chosen
		cmp := d.pick("<", "<=", ">", ">=")
		text := fmt.Sprintf("where(%s %s %s,%[1]s,%[3]s)", a.text, cmp, b.text)
		return drawnEpilogue{text, func(x float64, t map[string]float64) float64 {
			if cmp[0] == '<' {
				return min(a.of(x, t), b.of(x, t))
			}
			return max(a.of(x, t), b.of(x, t))
		}}
	}
	name := slices.Sorted(maps.Keys(functions))[d.IntN(len(functions))]
	return drawnEpilogue{name + "(" + a.text + ")", func(x float64, t map[string]float64) float64 {
		return functions[name](a.of(x, t))
	}}
}

// Kernels compute random epilogues correctly, however the tensors in the epilogues are broadcast.
func TestEpiloguesMeanWhatTheySay(t *testing.T) {
	inFull(t)
	d, matmul := openEmulator(t), find(t, "matmul")
	random := rand.New(rand.NewPCG(1, 46))
	shape, axes := []int64{2, 5, 3, 6}, []string{"batch", "m", "n"} // batch, m, k, n
	sizes := map[string]int64{"batch": 2, "m": 5, "n": 6}
	var drawn []drawnEpilogue
	var problems []*operator.Problem
	var kernels []operator.Kernel
	for len(drawn) < 24 {
		tensors := lists.Of([]string{"p", "q", "r"}, func(name string) string {
			has := slices.DeleteFunc(slices.Clone(axes), func(string) bool { return random.IntN(2) == 0 })
			return name + "[" + strings.Join(has, ",") + "]"
		})
		e := (&drawer{random, tensors}).draw(4)
		asked := operator.Request{Shape: shape, Parameters: map[string]string{"epilogue": e.text}}
		p, err := matmul.Bind(asked, d.Info().Limits)
		if err != nil && strings.Contains(err.Error(), "characters") {
			continue
		}
		must.OK(t, err)
		k, err := p.Reference()
		must.OK(t, err)
		tiled := space.Configuration{Template: "tiled", Values: p.Operator.Templates[0].Default.Values}
		if len(drawn)%2 > 0 {
			k, err = p.Kernel(tiled)
			must.OK(t, err)
		}
		drawn, problems, kernels = append(drawn, e), append(problems, p), append(kernels, k)
	}
	for i, binary := range compileTogether(t, d, kernels, referencesAtATime) {
		inputs := map[string]torchvectors.Floats{}
		for _, a := range problems[i].Arguments {
			if a.Role.Filled() {
				inputs[a.Name] = make(torchvectors.Floats, a.Elements)
				for j := range inputs[a.Name] {
					inputs[a.Name][j] = float32(random.NormFloat64())
				}
			}
		}
		got := runKernel(t, d, problems[i], kernels[i], binary, inputs)
		for at, y := range got {
			place := map[string]int64{"n": int64(at) % 6, "m": int64(at) / 6 % 5, "batch": int64(at) / 30}
			x := 0.0
			for k := range int64(3) {
				left, right := (place["batch"]*5+place["m"])*3+k, (place["batch"]*3+k)*6+place["n"]
				x += float64(inputs["a"][left]) * float64(inputs["b"][right])
			}
			want := drawn[i].of(x, besideAt(problems[i], inputs, sizes, place))
			if math.Abs(float64(y)-want) > 2e-5*(1+math.Abs(want)) {
				t.Fatalf("%s of %s at %v is %v, want %v", kernels[i].Template, problems[i], place, y, want)
			}
		}
	}
}

// besideAt returns the values of an epilogue's tensors at the place of one output.
func besideAt(
	p *operator.Problem, inputs map[string]torchvectors.Floats, sizes, place map[string]int64,
) (values map[string]float64) {
	values = map[string]float64{}
	for _, a := range p.Operator.Epilogue() {
		at := int64(0)
		for _, f := range a.Shape {
			if axis := f.Text; sizes[axis] > 0 {
				at = at*sizes[axis] + place[axis]
			}
		}
		values[a.Name] = float64(inputs[a.Name][at])
	}
	return values
}
