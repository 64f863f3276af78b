package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"autotune/space/expr"
)

// Each dialect writes an expression in its own form. Tests in package pack/packer check that an expression which a
// dialect writes has the same meaning in that language.
func TestDialects(t *testing.T) {
	for source, want := range map[string]string{
		"a + 2*b":                      `v["a"] + 2 * v["b"]`,
		"min(a, b, 1)":                 `min(v["a"], v["b"], 1)`,
		"(a if b else 1) < -c":         `(v["a"] if v["b"] else 1) < -v["c"]`,
		"not (a or b) and c":           `not (v["a"] or v["b"]) and v["c"]`,
		"a in (1,)":                    `v["a"] in (1,)`,
		"a < b < c":                    `v["a"] < v["b"] < v["c"]`,
		`a == "x\""`:                   `v["a"] == "x\""`,
		"a / b":                        `v["a"] / v["b"]`,
		"int(+a)":                      `int(+v["a"])`,
		"a ** b":                       `power(v["a"], v["b"])`,
		strings.Repeat("a+", 99) + "a": "a formula is nested or chained more than 90 deep",
	} {
		got, err := expr.Python.Print(expr.MustParse(source).Root())
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.40s: %s, want %s", source, got, want)
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
