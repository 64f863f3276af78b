package packer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/pack"
	"autotune/space/expr"
)

// drawnFormula is one of integers and truths, over a, b and c.
func drawnFormula(random *rand.Rand, depth int) string {
	if depth == 0 || random.IntN(6) == 0 {
		return []string{"a", "b", "c", "0", "1", "2", "7", "1000", "3000000000"}[random.IntN(9)]
	}
	x, y := drawnFormula(random, depth-1), drawnFormula(random, depth-1)
	forms := []string{
		"(%s + %s)", "(%s - %s)", "(%s * %s)", "(%s // %s)", "(%s %% %s)", "(%s ** max(0, %s))", "ceil_div(%s, %s)", "min(%s, %s, 7)", "max(%s, %s)", "gcd(%s, %s)",
		"(%s < %s)", "(%s == %s)", "(%s and %s)", "(%s or %s)", "(not %s if c else %s)", "(-%s if a > 3 else %s)", "(%s in (1, b, %s))", "(%s < b <= %s)",
	}
	return fmt.Sprintf(forms[random.IntN(len(forms))], x, y)
}

// formulaCase is a formula with values of its names, and what it computes: a number, or `bad` where it is not of 64 bits.
type formulaCase struct {
	root       *expr.Node
	text, want string
	values     map[string]int64
}

func formulaCases(t *testing.T) (all []formulaCase) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 400 {
		c := formulaCase{text: drawnFormula(random, 3), want: "bad", values: map[string]int64{}}
		e, err := expr.Parse(c.text)
		must.OK(t, err)
		values := map[string]expr.Value{}
		for _, name := range []string{"a", "b", "c"} {
			c.values[name] = []int64{-7, 0, 1, 2, 3, 31, 64, 1 << 40}[random.IntN(8)]
			values[name] = expr.Int(c.values[name])
		}
		c.root = e.Root()
		if v, err := e.Eval(values); err == nil {
			n, _ := v.AsInt()
			c.want = fmt.Sprint(n)
		}
		all = append(all, c)
	}
	return all
}

func sameNumbers(t *testing.T, cases []formulaCase, printed string) {
	t.Helper()
	got := strings.Fields(printed)
	for i, c := range cases {
		if got[i] != c.want {
			t.Errorf("%s of %v is %s, want %s", c.text, c.values, got[i], c.want)
		}
	}
}

// Formulas are in C what they are elsewhere: the same numbers, and bad where there is none of 64 bits.
func TestFormulasInC(t *testing.T) {
	testneeds.CXX.Need(t)
	w := newCOperator(&pack.Operator{Shape: []string{"a", "b", "c"}}, nil)
	var program strings.Builder
	program.WriteString("#include <inttypes.h>\n#include <stdarg.h>\n#include <stdio.h>\n#include <string.h>\n#include \"autotune_pack.h\"\n")
	program.Write(write("arithmetic", nil))
	program.WriteString("int main(void) {\n    int64_t v[3], n;\n    int overflow, *bad = &overflow;\n")
	cases := formulaCases(t)
	for _, c := range cases {
		fmt.Fprintf(&program, "    v[0] = %d, v[1] = %d, v[2] = %d, overflow = 0;\n    n = %s;\n", c.values["a"], c.values["b"], c.values["c"], w.Integer(pack.Formula{Expr: expr.MustParse(c.text)}))
		program.WriteString("    if (overflow) puts(\"bad\");\n    else printf(\"%\" PRId64 \"\\n\", n);\n")
	}
	must.OK(t, *w.fault)
	program.WriteString("    return 0;\n}\n")
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "formulas.c"), filepath.Join(dir, "formulas")
	must.OK(t, os.WriteFile(source, []byte(program.String()), 0o644))
	cc(t, "-fsanitize=undefined", "-w", "-I../loaders/c", "-o", binary, source)
	sameNumbers(t, cases, withDriver(t, nil, binary))
}

// So they are in Python, whose integers have no bound.
func TestFormulasInPython(t *testing.T) {
	testneeds.CXX.Need(t)
	testneeds.Python.Need(t)
	dir := filepath.Join(t.TempDir(), "layers")
	must.OK(t, os.Mkdir(dir, 0o700))
	var values []map[string]int64
	var list []pyFormula
	cases := slices.DeleteFunc(formulaCases(t), func(c formulaCase) bool { return c.want == "bad" })
	for i, c := range cases {
		code, err := expr.Python.Print(c.root)
		must.OK(t, err)
		list = append(list, pyFormula{fmt.Sprint(i), code})
		values = append(values, c.values)
	}
	must.OK(t, os.WriteFile(filepath.Join(dir, "formulas.py"), write("formulas.py.tmpl", list), 0o600))
	in, err := json.Marshal(values)
	must.OK(t, err)
	sameNumbers(t, cases, withDriver(t, in, "python3", "testdata/formulas.py", dir))
}

// A formula that no compiler of C and no Python could read is left out, and does not take long.
func TestDeepFormulas(t *testing.T) {
	for terms, want := range map[int]string{200: "", 12_000: "a formula is nested or chained more than 250 deep"} {
		for _, link := range []string{"+", " or "} {
			chain := pack.Formula{Expr: expr.MustParse(strings.Repeat("n"+link, terms-1) + "n")}
			o := &pack.Operator{
				Name: "x", Shape: []string{"n"}, Math: []string{"fp32"}, MathAuto: pack.Formula{Expr: expr.MustParse("'fp32'")},
				Derived: []pack.Definition{{Name: "m", Value: chain}},
			}
			got, w := "", newCOperator(o, nil)
			if w.Integer(chain); *w.fault != nil {
				got = (*w.fault).Error()
			}
			if got != want {
				t.Errorf("%d terms: %q, want %q", terms, got, want)
			}
			p := empty("layers", "")
			p.Operators = append(p.Operators, o)
			p.addFormulas("")
			if len(p.Notices) != 1 || !strings.HasSuffix(p.Notices[0], "a formula is nested or chained more than 90 deep") {
				t.Errorf("Python: %q", p.Notices)
			}
		}
	}
}
