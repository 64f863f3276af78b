package packer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/pack"
	"autotune/space/expr"
	"autotune/tuner/cudasource"
	"autotune/tuner/family"
)

// packedMaps writes a pack of one problem whose launch passes two tensor maps, an address and a scalar. The launch
// also lists a third tensor map for an argument that does not exist, as a damaged document could.
func packedMaps(t *testing.T) (path string, p *operator.Problem) {
	t.Helper()
	both, err := operator.Load(os.DirFS("testdata"), "both")
	must.OK(t, err)
	w := winnerOf(t, both, operator.Request{Shape: []int64{64}})
	w.Kernel.Launches = slices.Clone(w.Kernel.Launches)
	w.Kernel.Launches[0].Maps = []operator.TensorMap{{At: 2, Words: [7]int64{1, 2, 3, 4, 5, 6, -7}}, {At: 0, Words: [7]int64{-1 << 62, 9, 1 << 62}}, {At: 99}}
	return packed(t, "layers", []cudasource.Winner{w}), w.Problem
}

// packedOpenMaps writes a pack of a family whose kernel passes the output as a tensor map that depends on the shape.
func packedOpenMaps(t *testing.T) (path string, p *operator.Problem) {
	t.Helper()
	scaled, err := operator.Load(os.DirFS("testdata"), "scaled")
	must.OK(t, err)
	f := fakeFamilyOf(t, scaled, "{1..40}", "n", "")
	f.Tree = &family.Node{Entries: []int{0}}
	made, err := Make(context.Background(), cubins{}, nil, []Family{f}, Options{Name: "layers", Tool: "autotune test"})
	must.OK(t, err)
	m := pack.TensorMap[pack.Formula]{At: 1}
	for _, text := range []string{"n", "1 - n", "(n - 1)*4294967296", "7", "0", "ceil_div(n, 2)", "n % 4 if n > 4 else 9"} {
		m.Words = append(m.Words, pack.Formula{Expr: expr.MustParse(text)})
	}
	made.Families[0].Variants[0].Launches[0].Maps = []pack.TensorMap[pack.Formula]{m}
	delete(made.files, pack.ManifestFile)
	must.OK(t, made.finish(map[string]*operator.Operator{"scaled": scaled}))
	path = filepath.Join(t.TempDir(), "layers")
	must.OK(t, made.Write(path))
	p, err = scaled.Bind(f.Request([]int64{33}), hopper())
	must.OK(t, err)
	return path, p
}

// mapsGPU implements pack.Driver, and records launches' arguments in the same format as the imitation of the CUDA
// driver.
type mapsGPU struct {
	*recorder
	maps  string // the places of arguments that have 16 words
	asked string
}

func (g *mapsGPU) Launch(_ pack.Kernel, _ pack.Launch, _ pack.Stream, arguments []unsafe.Pointer) error {
	for _, a := range arguments {
		g.asked += fmt.Sprintf(" 0x%x", *(*uint64)(a))
	}
	for _, at := range g.maps {
		g.asked += fmt.Sprintf(", %s", strings.Trim(fmt.Sprintf("%x", *(*[16]uint64)(arguments[at-'0'])), "[]"))
	}
	return nil
}

// Every loader must pass a tensor map as 128 bytes: the tensor's address, seven words and zeros.
func TestTensorMaps(t *testing.T) {
	for name, test := range map[string]struct {
		packed     func(*testing.T) (string, *operator.Problem)
		maps, want string
	}{
		"of a problem": {packedMaps, "20", " 0x1000 0x2000 0x3000 0xbfe0000000000000, 3000 1 2 3 4 5 6 fffffffffffffff9 0 0 0 0 0 0 0 0" +
			", 1000 c000000000000000 9 4000000000000000 0 0 0 0 0 0 0 0 0 0 0 0"},
		"of a family": {packedOpenMaps, "1", " 0x1000 0x2000 0x40200000 0x20, 2000 21 ffffffffffffffe0 2000000000 7 0 11 1 0 0 0 0 0 0 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			path, p := test.packed(t)
			if name == "of a problem" {
				gpu := &mapsGPU{recorder: h100(), maps: test.maps}
				plan, err := open(t, path).On(gpu).Plan(p.Operator.Name, p.Shape, nil, "")
				must.OK(t, err)
				for range 2 { // the second run finds files of the first
					gpu.asked = ""
					must.OK(t, plan.Launch(1, 0x1000, 0x2000, 0x3000))
					if gpu.asked != test.want {
						t.Errorf("Go passes%s\nwant     %s", gpu.asked, test.want)
					}
				}
			}
			t.Setenv("FAKE_POINTERS", "4")
			t.Setenv("FAKE_MAPS", test.maps)
			for language, printed := range map[string]func(*testing.T, string, []chosenCase) string{"C": printedByC, "Python": printedByPython} {
				if language == "C" && name == "of a family" {
					continue
				}
				t.Run(language, func(t *testing.T) {
					got := regexp.MustCompile(`(?m)^launch.* on 0x7:(.*)$`).FindStringSubmatch(printed(t, path, []chosenCase{{problem: p}}))
					if len(got) != 2 || got[1] != test.want {
						t.Errorf("it passes %q\nwant       %q", got, test.want)
					}
				})
			}
		})
	}
}

// A manifest with wrong data about tensor maps must be refused with a one-line error.
func TestDamagedMaps(t *testing.T) {
	testneeds.Torch.Need(t)
	ofProblem, _ := packedMaps(t)
	ofFamily, _ := packedOpenMaps(t)
	open := func(m map[string]any) map[string]any {
		return open0(m["families"].([]any)[0].(map[string]any)["entries"].([]any)[0].(map[string]any))
	}
	first := func(launch map[string]any) map[string]any { return launch["maps"].([]any)[0].(map[string]any) }
	for _, test := range []struct {
		path, want string
		change     func(m map[string]any)
	}{
		{ofProblem, "a launch has 4 arguments and a tensor map at 4;", func(m map[string]any) { first(launch(m))["at"] = 4 }},
		{ofProblem, "a launch has 4 arguments and a tensor map at -1;", func(m map[string]any) { first(launch(m))["at"] = -1 }},
		{ofProblem, "a tensor map at 2; each argument may have one map", func(m map[string]any) { first(launch(m))["at"] = 2 }},
		{ofProblem, `"low" is passed as a tensor map, and is no tensor or workspace`, func(m map[string]any) { first(launch(m))["at"] = 3 }},
		{ofProblem, `the tensor map of "x" has 1 words; it should have 7`, func(m map[string]any) { first(launch(m))["words"] = []any{1} }},
		{ofFamily, `the tensor map of "y" has 1 words; it should have 7`, func(m map[string]any) { first(open(m))["words"] = []any{"n"} }},
		{ofFamily, `"last" is passed as a tensor map, and is no tensor or workspace`, func(m map[string]any) { first(open(m))["at"] = 3 }},
	} {
		path := refused(t, test.path, test.want, test.change)
		if !strings.Contains(test.want, "tensor map") || strings.Contains(test.want, "each") {
			continue // Python refuses this map only when it would pass it
		}
		out, err := exec.Command("python3", "-B", "testdata/plan_all.py", path).CombinedOutput()
		if err == nil || !regexp.MustCompile(`manifest.json is damaged: .*has a tensor map at -?\d of [17] words`).Match(out) {
			t.Errorf("Python takes it, though %s: %s", test.want, out)
		}
	}
}

// For each shape, a loader must compute the tensor map that a kernel compiled for this shape alone would have.
func TestTensorMapsOfFamilies(t *testing.T) {
	kernel := func(name, first string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("struct Map { unsigned long long words[16]; };\nextern \"C\" __global__ void boxed_" + name + "(" + first + " x, float* y) {}\n")}
	}
	boxed, err := operator.Load(fstest.MapFS{
		"boxed/plain.cu": kernel("plain", "const __grid_constant__ Map"), "boxed/reference.cu": kernel("reference", "const float*"),
		"boxed/general.cuh": {Data: []byte("struct Sizes {\n    SIZES;\n};\n__device__ float boxed_general(const float* x, const Sizes& s, long long i) { return 0; }\n")},
		"boxed/op.yaml": {Data: []byte(`
operator: boxed
summary: Nothing, of boxes.
shape: [m, n]
tensors:
  - {name: x, role: input, shape: [m, n]}
  - {name: y, role: output, shape: [m, n]}
cost: [8*m*n]
reference: reference.cu
templates:
  - name: plain
    source: plain.cu
    free: [m, n]
    tunables: {rows: [8, 129]}
    constraints: ["n % 4 == 0"]
    tensor_maps:
      - {name: narrow, of: x, when: rows > 8, type: f32, swizzle: 64, axes: [[n, 1, 16], [m, n, rows]]}
      - {name: narrow, of: x, type: tf32, swizzle: 128, axes: [[n, 1, 32], [m, n, rows, 2]]}
    launch: {block: [32, 1, 1], grid: ["ceil_div(m, rows)", 1, 1], shared: 0, arguments: [narrow, y]}
    default: {rows: 8}
pytorch: {files: [general.cuh]}
`)}}, "boxed")
	must.OK(t, err)
	f := fakeFamilyOf(t, boxed, "{1..5000}x{4..5000}", "m,n", "")
	f.Tree = &family.Node{Entries: []int{0}}
	path := packedFamilies(t, []Family{f})
	var cases []chosenCase
	want := ""
	for _, shape := range [][]int64{{1, 4}, {8, 32}, {4999, 4996}} {
		p, err := boxed.Bind(operator.Request{Shape: shape}, hopper())
		must.OK(t, err)
		k, err := p.Kernel(f.Entries[0].Configuration)
		must.OK(t, err)
		cases = append(cases, chosenCase{problem: p})
		want += "1000"
		for _, word := range k.Launches[0].Maps[0].Words {
			want += fmt.Sprintf(" %x", uint64(word))
		}
		want += strings.Repeat(" 0", 8) + "\n"
	}
	t.Setenv("FAKE_MAPS", "0")
	got := ""
	for _, found := range regexp.MustCompile(`(?m)^launch.* on 0x7: 0x1000, (.*\n)`).FindAllStringSubmatch(printedByPython(t, path, cases), -1) {
		got += found[1]
	}
	if got != want {
		t.Errorf("it passes\n%swant\n%s", got, want)
	}
}
