package packer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/pack"
	"autotune/space/expr"
)

// drawnFormula returns a random formula of integers and booleans in the variables a, b and c.
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

// formulaCase is a formula with the values of its variables, and the number that it computes.
type formulaCase struct {
	root       *expr.Node
	text, want string
	values     map[string]int64
}

func formulaCases(t *testing.T) (all []formulaCase) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 400 {
		c := formulaCase{text: drawnFormula(random, 3), values: map[string]int64{}}
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
			all = append(all, c)
		}
	}
	return all
}

// A formula must compute the same value in Python as in Go, although Python's integers have no bound.
func TestFormulasInPython(t *testing.T) {
	testneeds.CXX.Need(t)
	testneeds.Python.Need(t)
	dir := filepath.Join(t.TempDir(), "layers")
	must.OK(t, os.Mkdir(dir, 0o700))
	var values []map[string]int64
	var list []pyFormula
	cases := formulaCases(t)
	for i, c := range cases {
		code, err := expr.Python.Print(c.root)
		must.OK(t, err)
		list = append(list, pyFormula{fmt.Sprint(i), code})
		values = append(values, c.values)
	}
	must.OK(t, os.WriteFile(filepath.Join(dir, "formulas.py"), write("formulas.py.tmpl", list), 0o600))
	in, err := json.Marshal(values)
	must.OK(t, err)
	const program = "import json, sys\nsys.path[:0] = [sys.argv[1]]\nfrom formulas import FORMULAS\n" +
		"for i, values in enumerate(json.load(sys.stdin)): print(int(FORMULAS[str(i)](values)))"
	got := strings.Fields(withDriver(t, in, "python3", "-c", program, dir))
	for i, c := range cases {
		if got[i] != c.want {
			t.Errorf("%s of %v is %s, want %s", c.text, c.values, got[i], c.want)
		}
	}
}

// A formula that is too deep for Python must be left out, without taking long.
func TestDeepFormulas(t *testing.T) {
	for _, link := range []string{"+", " or "} {
		p := empty("layers", "")
		p.Operators = append(p.Operators, &pack.Operator{
			MathAuto: pack.Formula{Expr: expr.MustParse(strings.Repeat("n"+link, 11_999) + "n")},
		})
		p.addFormulas("")
		if len(p.Notices) != 1 || !strings.HasSuffix(p.Notices[0], "a formula is nested or chained more than 90 deep") {
			t.Errorf("%q", p.Notices)
		}
	}
}
