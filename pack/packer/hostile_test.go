package packer

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

// hostileSummaries would run as code in Python or C if they were not quoted.
var hostileSummaries = []string{
	`"""; import os; os.system("touch ran") #`, `a trailing \`, `\xi and \N{x}`, `'''`, `**// int x = 1 / 0; /**`, `*/ #error ran /*`, `**//**/ #error ran`, "a ` $(touch ran)",
	`%s%n%lld`, `{__import__("os").system("touch ran")}`, `??/`, `// a \\`, "# coding: utf-7", "é 日",
}

// scaledWith loads the operator testdata/scaled with one text in its description replaced.
func scaledWith(t *testing.T, old, new string) *operator.Operator {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"op.yaml", "plain.cu", "reference.cu", "general.cuh", "gradients.py", "module.py"} {
		text := must.Read(t, filepath.Join("testdata/scaled", name))
		if name == "op.yaml" {
			if !strings.Contains(string(text), old) {
				t.Fatalf("%s is not there", old)
			}
			text = []byte(strings.Replace(string(text), old, new, 1))
		}
		files["scaled/"+name] = &fstest.MapFile{Data: text}
	}
	op, err := operator.Load(files, "scaled")
	must.OK(t, err)
	return op
}

// No summary of an operator may become code: functions.py must contain it only as a docstring, and the C files must
// compile.
func TestHostileSummaries(t *testing.T) {
	testneeds.CXX.Need(t)
	const plain = "Twice and a half of each element, backwards; scalars say how much, and which is the last."
	for _, summary := range endurance.Some(hostileSummaries, 5) {
		op := scaledWith(t, "summary: "+plain, "summary: "+strconv.Quote(summary))
		if op.Summary != summary {
			t.Fatalf("%q was read as %q", summary, op.Summary)
		}
		path := packed(t, "layers", []cudasource.Winner{winnerOf(t, op, operator.Request{Shape: []int64{64}})})
		for _, standard := range []string{"-std=gnu11", "-std=c99"} {
			cc(t, standard, "-Wno-trigraphs", "-fsyntax-only", filepath.Join(path, "c", "layers.c"))
		}
		if _, err := exec.LookPath("python3"); err != nil {
			continue
		}
		out, err := exec.Command("python3", "-I", "-c", `import ast, sys
tree = ast.parse(open(sys.argv[1], "rb").read())
functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
assert [type(n).__name__ for n in tree.body] == ["Expr", "ImportFrom", "ImportFrom", "Assign", "Assign", "Assign", "FunctionDef"], ast.dump(tree)
assert len(functions[0].body) == 2 and ast.get_docstring(functions[0], clean=False) == sys.argv[2], ast.dump(functions[0])
`, filepath.Join(path, "python/layers/functions.py"), strings.ReplaceAll(op.Summary, `"`, "'")).CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v\n%s", summary, err, out)
		}
	}
}
