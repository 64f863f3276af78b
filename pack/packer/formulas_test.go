package packer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		"(%s + %s)", "(%s - %s)", "(%s * %s)", "(%s // %s)", "(%s %% %s)", "(%s ** max(0, %s))", "ceil_div(%s, %s)", "min(%s, %s)", "max(%s, %s)", "gcd(%s, %s)",
		"(%s < %s)", "(%s == %s)", "(%s and %s)", "(%s or %s)", "(not %s if c else %s)", "(-%s if a > 3 else %s)", "(%s in (1, b, %s))",
	}
	return fmt.Sprintf(forms[random.IntN(len(forms))], x, y)
}

// Formulas are in C what they are elsewhere: the same numbers, and bad where there is none of 64 bits.
func TestFormulasInC(t *testing.T) {
	testneeds.CXX.Need(t)
	random := rand.New(rand.NewPCG(9, 10))
	w := &cOperator{Operator: &pack.Operator{}, place: map[string]int{"a": 0, "b": 1, "c": 2}, depth: map[*expr.Node]int{}}
	var program strings.Builder
	program.WriteString("#include <inttypes.h>\n#include <stdarg.h>\n#include <stdio.h>\n#include <string.h>\n#include \"autotune_pack.h\"\n" + arithmetic)
	program.WriteString("int main(void) {\n    int64_t v[3], n;\n    int overflow, *bad = &overflow;\n")
	var want, texts []string
	for range 400 {
		text := drawnFormula(random, 3)
		e, err := expr.Parse(text)
		must(t, err)
		values := map[string]expr.Value{}
		for at, name := range []string{"a", "b", "c"} {
			x := []int64{-7, 0, 1, 2, 3, 31, 64, 1 << 40}[random.IntN(8)]
			values[name] = expr.Int(x)
			fmt.Fprintf(&program, "    v[%d] = INT64_C(%d);\n", at, x)
		}
		fmt.Fprintf(&program, "    overflow = 0, n = %s;\n    if (overflow) puts(\"bad\");\n    else printf(\"%%\" PRId64 \"\\n\", n);\n", w.number(e.Root(), nil))
		line := "bad"
		if v, err := e.Eval(values); err == nil {
			n, isInt := v.AsInt()
			if line = fmt.Sprint(n); !isInt {
				t.Fatalf("%s is %s, which is no integer", text, v)
			}
		}
		want, texts = append(want, line), append(texts, fmt.Sprintf("%s of %v", text, values))
	}
	program.WriteString("    return 0;\n}\n")
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "formulas.c"), filepath.Join(dir, "formulas")
	must(t, os.WriteFile(source, []byte(program.String()), 0o644))
	cc(t, "-fsanitize=undefined", "-w", "-I../loaders/c", "-o", binary, source)
	got := strings.Fields(withDriver(t, nil, binary))
	for i, line := range want {
		if got[i] != line {
			t.Errorf("%s: C says %s, want %s", texts[i], got[i], line)
		}
	}
}
