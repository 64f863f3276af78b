package operator

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autotune/internal/test/must"
	"autotune/space/expr"
)

// chained is the test's example of a parameter of type expression.
var chained = ParameterSpec{
	Name: "f", Type: ExpressionParameter, Of: []string{"x", "w"},
	Functions: map[string]expr.Arity{"relu": {Least: 1, Most: 1}, "leaky": {Least: 1, Most: 2}, "abs": {Least: 1, Most: 1}},
}

func TestExpressions(t *testing.T) {
	for _, c := range []struct{ written, canonical, cuda, python string }{
		{"x", "x", "x", "x"},
		{" relu( x*w + 1 ) ", "relu(x*w+1)", "relu(x * w + 1.0f)", "of.relu(x * w + 1)"},
		{"x-(w-1e-3)", "x-(w-0.001)", "x - (w - 0.001f)", "x - (w - 0.001)"},
		{"--x", "--x", "-1.0f * (-1.0f * x)", "--x"},
		{"+x/-2", "+x/-2", "x / (-1.0f * 2.0f)", "+x / -2"},
		{"leaky(abs(x), 0.2)*3e9", "leaky(abs(x),0.2)*3e+09", "leaky(abs(x), 0.2f) * 3e+09f", "of.leaky(of.abs(x), 0.2) * 3e+09"},
		{"1/2*x", "1/2*x", "1.0f / 2.0f * x", "1 / 2 * x"},
	} {
		values, err := chained.parse(c.written)
		if err != nil {
			t.Errorf("%s: %v", c.written, err)
			continue
		}
		text := chained.format(values)
		if text != c.canonical || chained.CUDA(text) != c.cuda || chained.Python(text, "of") != c.python {
			t.Errorf("%s: %q, %q, %q", c.written, text, chained.CUDA(text), chained.Python(text, "of"))
		}
		if again, err := chained.parse(text); err != nil || chained.format(again) != text || len(again) != 3 {
			t.Errorf("%s is read as %v, %v", text, again, err)
		}
		if names := values[2].Truth(); names != strings.Contains(c.canonical, "w") {
			t.Errorf("%s: whether it names w: %v", c.written, names)
		}
	}
}

func TestExpressionsThatCannotBe(t *testing.T) {
	for text, says := range map[string]string{
		"":                              "the expression is empty",
		"gelo(x)":                       "column 1: unknown function 'gelo': there are abs, leaky, relu",
		"x + y":                         "column 5: unknown name 'y': there are x, w",
		"relu(x, 1)":                    "column 1: relu() takes at most 1 arguments, not 2",
		"leaky()":                       "column 1: leaky() takes at least 1 arguments, not 0",
		"x; asm(\"trap;\")":             "column 2: unexpected character ';'",
		"x < 1":                         "column 3: a comparison is unknown here",
		"x if w else 1":                 "if is unknown here",
		"x ** 2":                        "** is unknown here: there are + - * / and functions",
		"x % 2":                         "% is unknown here",
		"'x'":                           "'x' is no number that a float holds",
		"True*x":                        "True is no number",
		"x*1e39":                        "1e+39 is no number that a float holds",
		"x.y":                           "names have no dots",
		"relu":                          "unknown name 'relu'",
		strings.Repeat("-", 50) + "x":   "more than 40 operations within each other",
		strings.Repeat("x+", 600) + "x": "it may have 1000",
	} {
		_, err := chained.parse(text)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "`f`") {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

// Writing an expression in canonical form does not change the function that it computes.
func TestExpressionsKeepTheirMeaning(t *testing.T) {
	leaf := rapid.OneOf(rapid.SampledFrom([]string{"x", "w", "2", "0.5", "1e-3"}))
	var tree func(depth int) *rapid.Generator[string]
	tree = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			if depth == 0 {
				return leaf.Draw(t, "leaf")
			}
			of := tree(depth - 1)
			switch op := rapid.SampledFrom([]string{"+", "-", "*", "/", "neg", "call", "leaf"}).Draw(t, "op"); op {
			case "neg":
				return "-(" + of.Draw(t, "a") + ")"
			case "call":
				return "abs(" + of.Draw(t, "a") + ")"
			case "leaf":
				return leaf.Draw(t, "leaf")
			default:
				return "(" + of.Draw(t, "a") + ")" + op + "(" + of.Draw(t, "b") + ")"
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		text := tree(4).Draw(t, "text")
		values, err := chained.parse(text)
		must.OK(t, err)
		env := map[string]expr.Value{"x": expr.Float(1.25), "w": expr.Float(-0.75)}
		want, err := expr.MustParse(text).Eval(env)
		cuda := strings.NewReplacer("0f", "0", "5f", "5", "1f", "1").Replace(chained.CUDA(values[0].String()))
		for _, other := range []string{values[0].String(), chained.Python(values[0].String(), ""), cuda} {
			got, err2 := expr.MustParse(strings.ReplaceAll(other, ".abs", "abs")).Eval(env)
			a, _ := want.AsFloat()
			b, _ := got.AsFloat()
			if (err == nil) != (err2 == nil) || err == nil && math.Abs(a-b) > 1e-6*math.Abs(a) && !math.IsInf(a, 0) {
				t.Fatalf("%s is %v, %v; written %s it is %v, %v", text, want, err, other, got, err2)
			}
		}
	})
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{"relu(x*w + b)", "-x/2", "leaky(x, 1e-2)", "x)", "((x", "relu(x;y)", "x\n*w"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, err := chained.parse(text)
		if err != nil {
			return
		}
		canonical := chained.format(values)
		again, err := chained.parse(canonical)
		if err != nil || chained.format(again) != canonical {
			t.Fatalf("%q is written %q: %v", text, canonical, err)
		}
		if strings.ContainsAny(chained.CUDA(canonical), ";{}\"'\\#\n") {
			t.Fatalf("%q is %q in C++", text, chained.CUDA(canonical))
		}
	})
}
