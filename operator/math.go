package operator

import (
	"slices"
	"strings"

	"autotune/operator/tree"
	"autotune/space/expr"
)

// AutoMath tells whether a requested math mode leaves the choice to op.yaml's rule or to PyTorch.
func AutoMath(asked string) bool { return asked == "" || asked == "auto" }

// usualMath is the math mode of an operator that lists none, and the mode of `auto` if op.yaml has no rule for it.
const usualMath = "fp32"

// math reads the math modes and the rule for `auto`, which is read too early to use derived values.
func (l *loader) math(n, auto *tree.Node, names scope) {
	modes, asks := l.o.MathModes, []*tree.Node(nil)
	if auto != nil && auto.Kind == tree.List {
		if len(auto.Items) != 2 {
			auto.RefuseHint("as [\"'tf32'\", ask.py]", "auto is an expression, or a list of one and of a Python file")
			return
		}
		auto, asks = auto.Items[0], auto.Items[1:]
	}
	l.o.MathAuto = tree.Optional(auto, l.over(names.with("device limit", limitNames...)), constant("'"+usualMath+"'"))
	if auto == nil && !slices.Contains(modes, usualMath) {
		n.Refuse("these modes need `auto`: an expression that gives one of %s", strings.Join(modes, ", "))
	}
	l.o.MathVariants = map[string]string{}
	for _, mode := range modes {
		for _, of := range modes {
			if strings.HasPrefix(mode, of+"_") {
				l.o.MathVariants[mode] = of
			}
		}
	}
	for _, n := range asks {
		s := l.file(n, "*.py")
		for _, part := range []string{"def ask", "def part", "FACTORS"} {
			s.mustDefine(n, part, `(?m)^`+part+`\b`, "docs/writing-an-operator.md says what such a file defines")
		}
		l.o.MathAsk = &s
	}
}

func (b *binder) math(r Request) {
	o, mode := b.p.Operator, r.Math
	if AutoMath(mode) {
		v, err := o.MathAuto.code.Eval(b.p.Limits.beside(b.values))
		if err != nil {
			b.refuse("", "--math auto cannot be decided for these numbers; name one of %s, or mend them: %v", strings.Join(o.MathModes, ", "), err)
		}
		mode = v.String()
	}
	if !slices.Contains(o.MathModes, mode) {
		b.refuse("it has "+strings.Join(o.MathModes, ", "), "there is no math mode `%s`", mode)
	}
	b.p.Math, b.values["math"] = mode, expr.String(mode)
}

// MathMacros returns the macros that tell a kernel its math mode, if there are several modes. In a math variant, such
// as tf32_even of tf32, the macros of the variant and of its base mode are both 1.
func (p *Problem) MathMacros() []Macro {
	var macros []Macro
	for _, mode := range p.Operator.MathModes {
		if mode != usualMath && len(p.Operator.MathModes) > 1 {
			is := mode == p.Math || mode == p.Operator.MathVariants[p.Math]
			macros = append(macros, Macro{"MATH_" + strings.ToUpper(mode), macroValue(expr.Bool(is))})
		}
	}
	return macros
}
