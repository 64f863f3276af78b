package program

import (
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space/expr"
)

// Without regions their nodes are PyTorch's again, views that they saw through too.
func TestWithout(t *testing.T) {
	graphs, _ := level2(t)
	for i, g := range graphs {
		p := planned(t, g)
		for _, r := range p.Regions() {
			without, err := p.Without(r.Name)
			must.OK(t, err)
			isWhole(t, g, without)
			if len(without.Regions()) != len(p.Regions())-1 || strings.Contains(without.String(), r.Name+" ") &&
				!strings.Contains(without.String(), r.Name+" was left out") {
				t.Errorf("%d without %s:\n%s", i+1, r.Name, without)
			}
			p = without
		}
		if len(p.Regions()) > 0 {
			t.Errorf("%d without all regions:\n%s", i+1, p)
		}
		if _, err := p.Without("region_1"); err == nil {
			t.Error("a region is left out that is not there")
		}
	}
}

// The table has what epilogues have, and arguments decide which line counts.
func TestPointwiseTable(t *testing.T) {
	o, err := operator.Find("conv2d")
	must.OK(t, err)
	var functions map[string]expr.Arity
	for _, s := range o.Parameters {
		if s.Axes != nil {
			functions = s.Functions
		}
	}
	for name, lines := range pointwiseFunctions {
		for _, line := range lines {
			if _, err := expr.ParseCalls(line.body.Source(), functions); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	x, of := Argument{Value: "x"}, func(values ...any) (all []Argument) {
		for _, v := range values {
			all = append(all, Argument{Constant: v})
		}
		return all
	}
	for _, test := range []struct {
		function  string
		arguments []Argument
		keywords  map[string]Argument
		want      string
	}{
		{"gelu.default", nil, nil, "gelu(self)"},
		{"gelu.default", nil, map[string]Argument{"approximate": {Constant: "tanh"}}, "gelu_tanh(self)"},
		{"clamp.default", of(nil, int64(1)), nil, "min(self, max)"},
		{"clamp.default", of(int64(0)), nil, "max(self, min)"},
		{"clamp.default", of(0.5), map[string]Argument{"max": {Constant: 1.5}}, "clamp(self, min, max)"},
		{"add.Tensor", of(1.0), map[string]Argument{"alpha": {Constant: int64(1)}}, "self + other"},
		{"add.Tensor", of(1.0), map[string]Argument{"alpha": {Constant: int64(3)}}, "self + alpha * other"},
		{"multiply.Tensor", of(1.0), nil, "self * other"},
		{"pow.Tensor_Scalar", of(2.0), nil, "square(self)"},
		{"pow.Tensor_Scalar", of(2.5), nil, "pow(self, exponent)"},
		{"div.Tensor_mode", of(2.0), map[string]Argument{"rounding_mode": {Constant: "floor"}}, ""},
		{"elu.default", of(1.0, 2.0), nil, ""},
		{"softplus.default", of(int64(1), int64(20)), nil, "softplus(self)"},
		{"min.dim", of(int64(1)), nil, ""},
		{"relu.default", of(int64(1)), nil, ""},
	} {
		n := &Node{Function: "aten." + test.function, Keywords: test.keywords}
		n.Arguments = append([]Argument{x}, test.arguments...)
		got := ""
		for _, line := range linesOf(n) {
			if line.given(n) != nil {
				got = line.body.Source()
				break
			}
		}
		if got != test.want {
			t.Errorf("%s %v %v: %q; want %q", test.function, test.arguments, test.keywords, got, test.want)
		}
	}
}
