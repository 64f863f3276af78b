package packer

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/tuner/cudasource"
	"autotune/tuner/family"
)

// What a kernel is passed by value is its problem's. Python has it in TestPythonTensors.
func TestScalars(t *testing.T) {
	both, err := operator.Load(os.DirFS("testdata"), "both")
	must.OK(t, err)
	path := packed(t, "layers", []cudasource.Winner{winnerOf(t, both, operator.Request{Shape: []int64{64}})})
	gpu := h100()
	plan, err := open(t, path).On(gpu).Plan("both", []int64{64}, nil, "")
	must.OK(t, err)
	must.OK(t, relaunch(plan))
	if got := math.Float64frombits(gpu.values[0][3]); got != -0.5 || len(plan.Tensors) != 3 {
		t.Errorf("Go passes %v beside %d tensors, want -0.5 beside 3", got, len(plan.Tensors))
	}

	testneeds.CXX.Need(t)
	dir, program := programInC(t, path, "scalars.c")
	if out, err := underDriver(dir, program, path).CombinedOutput(); err != nil || !strings.HasSuffix(string(out), " 0x1000 0x2000 0x3000 0xbfe0000000000000\n") {
		t.Errorf("C: %v, %s", err, out)
	}
}

// A family's kernels are passed scalars that follow from the shape, and their bits where they do not.
// The general kernel computes what they say.
func TestScalarsOfFamilies(t *testing.T) {
	op, err := operator.Load(os.DirFS("testdata"), "scaled")
	must.OK(t, err)
	f := fakeFamilyOf(t, op, "{1..40}", "n", "")
	f.Tree = &family.Node{Entries: []int{0}}
	path := packedFamilies(t, []Family{f})
	var cases []chosenCase
	for _, n := range []int64{1, 33, 100} { // the last is beyond the family's range
		p, err := op.Bind(operator.Request{Shape: []int64{n}}, hopper())
		must.OK(t, err)
		cases = append(cases, chosenCase{problem: p})
	}
	const want = "x: 0x1000 0x2000 0x40200000 (nil)\nx: 0x1000 0x2000 0x40200000 0x20\nx: 0x1000 0x2000 0x64 0x64\n"
	t.Setenv("FAKE_POINTERS", "4")
	for name, printed := range map[string]func(*testing.T, string, []chosenCase) string{"C": printedByC, "Python": printedByPython} {
		t.Run(name, func(t *testing.T) {
			out := printed(t, path, cases)
			got := regexp.MustCompile(`(?m)^launch.* on 0x7`).ReplaceAllString(out, "x")
			if got = regexp.MustCompile(`(?m)^[^x].*\n`).ReplaceAllString(got, ""); got != want {
				t.Errorf("passes\n%swant\n%s", got, want)
			}
		})
	}
}

// A scalar of floating point that depends on the shape has no formula of integers.
func TestScalarsLeftOut(t *testing.T) {
	files := fstest.MapFS{}
	for _, name := range []string{"op.yaml", "plain.cu", "reference.cu", "general.cuh", "gradients.py", "module.py"} {
		text, err := os.ReadFile(filepath.Join("testdata/scaled", name))
		must.OK(t, err)
		files["scaled/"+name] = &fstest.MapFile{Data: []byte(strings.Replace(string(text), "value: 2.5", "value: n / 2", 1))}
	}
	op, err := operator.Load(files, "scaled")
	must.OK(t, err)
	if why := fakeFamilyOf(t, op, "{1..40}", "n", "").notPacked(); why != "the scalar `a` is of floating point, and n / 2 depends on the shape" {
		t.Error(why)
	}
}
