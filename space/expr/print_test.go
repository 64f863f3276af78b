package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"autotune/space/expr"
)

// Each dialect writes an expression in its own way. That what is written means the same is tested in pack/packer.
func TestDialects(t *testing.T) {
	inC := expr.C(func(name string) string { return "v_" + name })
	for _, c := range []struct{ source, c, python string }{
		{"a + 2*b", "add(v_a, mul(INT64_C(2), v_b, bad), bad)", `v["a"] + 2 * v["b"]`},
		{"min(a, b, 1)", "least(least(v_a, v_b, bad), INT64_C(1), bad)", `min(v["a"], v["b"], 1)`},
		{"(a if b else 1) < -c", "(v_b ? v_a : INT64_C(1)) < sub(0, v_c, bad)", `(v["a"] if v["b"] else 1) < -v["c"]`},
		{"not (a or b) and c", "(!(v_a || v_b) && v_c)", `not (v["a"] or v["b"]) and v["c"]`},
		{"a in (1,)", "it compares by in", `v["a"] in (1,)`},
		{"a < b < c", "it compares more than two values at once", `v["a"] < v["b"] < v["c"]`},
		{`a == "x\""`, `it has the constant 'x"'`, `v["a"] == "x\""`},
		{"a / b", "it computes /", `v["a"] / v["b"]`},
		{"a % b", "modulo(v_a, v_b, bad)", `v["a"] % v["b"]`},
		{"int(+a)", "v_a", `int(+v["a"])`},
		{strings.Repeat("a+", 99) + "a", "*", "a formula is nested or chained more than 90 deep"},
		{strings.Repeat("a+", 300) + "a", "a formula is nested or chained more than 250 deep", "*"},
	} {
		for want, dialect := range map[string]expr.Dialect{c.c: inC, c.python: expr.Python} {
			got, err := dialect.Print(expr.MustParse(c.source).Root())
			if err != nil {
				got = err.Error()
			}
			if got != want && want != "*" {
				t.Errorf("%.40s: %s, want %s", c.source, got, want)
			}
		}
	}
}

func ExampleDialect_Print() {
	root, _ := expr.ParseCalls("gelu(-x + 2)", map[string]expr.Arity{"gelu": {Least: 1, Most: 1}})
	fmt.Println(expr.CPP.Print(root))
	fmt.Println(expr.Methods("torch").Print(root))
	// Output:
	// gelu(-1.0f * x + 2.0f) <nil>
	// torch.gelu(-x + 2) <nil>
}
