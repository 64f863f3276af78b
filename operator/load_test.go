package operator

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"autotune/internal/test/must"
	"autotune/operator/tree"
	"autotune/templates"
)

// goodOperator is a small operator that uses most features of op.yaml.
const goodOperator = `operator: scale
summary: Multiplies rows of a matrix.
shape: [n, w]
example: 4x100 kernel=3x5 twice=true
parameters:
  kernel: {type: ints, default: 3, range: [1]}
  stride: {type: ints, default: kernel}
  times:  {default: w, range: [-9]}
  twice:  {type: bool, default: False}
axes: [h, w]
derived:
  area: kernel_h*kernel_w
  total: area*times
requires:
  area <= 900: "the area {area} is too large"
tensors:
  - {name: x, role: input, shape: [n, w]}
  - {name: weight, role: weight, shape: ["w if twice else 0"], fill: within(0.5)}
  - {name: y, role: output, shape: [n, w]}
inputs: [normal, uniform01]
cost: [8*n*w, n*w]
math: [fp32, tf32]
auto: "'tf32' if arch >= 80 else 'fp32'"
tolerance: [0.001, "1e-5 if math == 'tf32' else 1e-4"]
reference: reference.cu
templates:
  - name: direct
    source: direct.cu
    when: n*w >= 1
    tunables: {block_x: [32, 64, 128], vec: [1, 2, 4], wide: [false, true]}
    derived:
      tiles: ceil_div(w, chunk)
      chunk: block_x*vec
    constraints: [chunk <= 256]
    launch: {block: [block_x, 1, 1], grid: [tiles, n, 1], shared: 4*block_x}
    default: {block_x: 64, vec: 1, wide: false}
`

// operatorFiles returns a folder with an op.yaml and the kernels of goodOperator.
func operatorFiles(yaml string) fstest.MapFS {
	return fstest.MapFS{
		"op.yaml":      {Data: []byte(yaml)},
		"reference.cu": {Data: []byte("extern \"C\" __global__ void scale_reference(const float* x) {}\n")},
		"direct.cu":    {Data: []byte("#include \"own.cuh\"\nextern \"C\" __global__ void scale_direct(const float* x) {}\n")},
		"own.cuh":      {Data: []byte("#pragma once\n#include \"deeper.cuh\"\n")},
		"deeper.cuh":   {Data: []byte("#pragma once\n#include <none>\n")},
	}
}

func TestBuiltinOperatorsLoad(t *testing.T) {
	operators, err := Operators()
	must.OK(t, err)
	if len(operators) < 5 {
		t.Fatalf("%d operators are built in, want five at least", len(operators))
	}
	for _, o := range operators {
		if len(o.Summary) == 0 || o.Example == nil || len(o.Templates) == 0 {
			t.Errorf("%s lacks a summary, an example or templates", o.Name)
		}
	}
}

func TestLoad(t *testing.T) {
	o := loaded(t, operatorFiles(goodOperator))
	direct, ok := o.Template("direct")
	if !ok || len(direct.Source.Includes) != 2 {
		t.Errorf("direct.cu has the includes %v, want own.cuh and deeper.cuh", direct.Source.Includes)
	}
}

func TestLoadFindsFaults(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"unknown key", "tunables: {", "tunable: {", "op.yaml:30:5: unknown key `tunable`; did you mean `tunables`?"},
		{"unknown key at the top", "reference: ref", "referense: ref", "op.yaml:25:1: unknown key `referense`; did you mean `reference`?"},
		{"unknown key of a parameter", "type: ints, default: 3,", "type: ints, defualt: 3,", "op.yaml:6:24: unknown key `defualt`; did you mean `default`?"},
		{"missing key", "shape: [n, w]\n", "", "op.yaml:1:1: an operator lacks the key `shape`"},
		{"three costs", "cost: [8*n*w, n*w]", "cost: [8*n*w, n*w, n]", "op.yaml:21:7: cost has one number or two: bytes, and operations; as [8*n, 2*n]"},
		{"empty value", "summary: Multiplies rows of a matrix.", "summary:", "op.yaml:2:1: `summary` has no value"},
		{"list for a mapping", "requires:\n  area <= 900: \"the area {area} is too large\"", "requires: [1, 2]", "op.yaml:14:11: requires must be a mapping of conditions to what to say where they are false; this is a list"},
		{"mapping for a list", "shape: [n, w]\n", "shape: {n: w}\n", "op.yaml:3:8: shape must be a list; this is a mapping"},
		{"text for an integer", "range: [1]", "range: [one]", "op.yaml:6:44: this must be an integer; it is text `one`"},
		{"text for a boolean", "type: bool,", "type: bool, later: yes,", "op.yaml:9:31: this must be true or false; it is text"},
		{"unknown type", "type: bool", "type: boolean", "op.yaml:9:18: unknown type `boolean`; did you mean `bool`?"},
		{"unknown role", "role: output", "role: outptu", "op.yaml:19:21: unknown role `outptu`; did you mean `output`?"},
		{"two outputs", "role: weight", "role: output", "op.yaml:18:70: only what is read is filled; `weight` is an output"},
		{"unknown type of a tensor", "role: weight,", "role: weight, type: f23,", "op.yaml:18:40: unknown type `f23`; there are f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8, bool"},
		{"type that is C++'s word", "role: weight,", "role: weight, type: float,", "op.yaml:18:40: unknown type `float`; there are f64"},
		{"scale of an input", "{name: x, role: input,", "{name: x, role: input, fill: within(1),", "op.yaml:17:34: only a weight of a floating type is filled `within`; `x` is an input of type f32; as fill: \"uniform(-5, 5)\""},
		{"scale of integers", "role: weight,", "role: weight, type: i8,", "op.yaml:18:80: only a weight of a floating type is filled `within`; `weight` is a weight of type i8; as fill: \"uniform(-5, 5)\""},
		{"fill of an output", "role: output,", "role: output, fill: permutation,", "op.yaml:19:35: only what is read is filled; `y` is an output"},
		{"fill of a workspace", "role: weight, shape: [\"w if twice else 0\"], fill: within(0.5)", "role: workspace, shape: [w], fill: permutation", "op.yaml:18:55: only what is read is filled; `weight` is a workspace"},
		{"unknown fill", "fill: within(0.5)", "fill: \"unifrom(0, 1)\"", "op.yaml:18:71: there is no distribution `unifrom`; did you mean `uniform`?"},
		{"fill of each axis", "fill: within(0.5)", "fill: \"constant($)\"", "op.yaml:18:71: `$` has no place here"},
		{"empty example", "example: 4x100 kernel=3x5 twice=true", "example: ''", "op.yaml:4:11: `` is not a shape"},
		{"fill without numbers", "fill: within(0.5)", "fill: uniform", "op.yaml:18:70: `uniform` takes 2 numbers, not 0; as uniform(least, most)"},
		{"fill with a number too many", "fill: within(0.5)", "fill: \"constant(1, 2)\"", "op.yaml:18:71: `constant` takes 1 number, not 2; as constant(value)"},
		{"fill without an end", "fill: within(0.5)", "fill: \"range(0, max(1, 2)\"", "op.yaml:18:89: bad expression `range(0, max(1, 2)`: expected ')' or an operator, found the end"},
		{"fill with words behind", "fill: within(0.5)", "fill: \"range(0, 1) up\"", "op.yaml:18:83: bad expression `range(0, 1) up`: expected an operator or the end, found 'up'"},
		{"undefined name in a fill", "fill: within(0.5)", "fill: \"normal(0, times + tims)\"", "op.yaml:18:89: `tims` is not defined here; did you mean `times`?"},
		{"bad expression in a fill", "fill: within(0.5)", "fill: \"normal(0, 1 1)\"", "op.yaml:18:"},
		{"tolerance of an input", "{name: x, role: input,", "{name: x, role: input, tolerance: [0],", "op.yaml:17:39: `tolerance` has no place here: only what is compared has a tolerance"},
		{"undefined name in a tolerance", "role: output,", "role: output, tolerance: [1/q],", "op.yaml:19:43: `q` is not defined here"},
		{"scalar with a role", "{name: x, role: input,", "{name: x, role: input, value: n,", "op.yaml:17:21: `role` has no place here: a scalar is passed by value"},
		{"scalar with a shape", "role: input, shape: [n, w]", "value: n, shape: [n, w]", "op.yaml:17:32: `shape` has no place here: a scalar is passed by value"},
		{"undefined name in a scalar", "role: input, shape: [n, w]", "type: i32, value: n*v", "op.yaml:17:35: `v` is not defined here"},
		{"neither tensor nor scalar", "{name: x, role: input, shape: [n, w]}", "{name: x}", "op.yaml:17:12: the tensor `x` has no `role`; a scalar has a value instead"},
		{"no shape", "{name: x, role: input, shape: [n, w]}", "{name: x, role: inout}", "op.yaml:17:12: the tensor `x` has no `shape`; a scalar has a value instead"},
		{"no output", "role: output", "role: workspace", "op.yaml:17:3: no tensor is an output: nothing would be compared; give one the role output or inout"},
		{"unknown distribution", "uniform01]", "unifrom01]", "op.yaml:20:18: unknown distribution `unifrom01`; did you mean `uniform01`?"},
		{"duplicate key", "derived:\n  area", "shape: [n]\nderived:\n  area", "op.yaml:11:1: YAML: mapping key `shape` already defined at [3:1]"},
		{"duplicate dimension", "shape: [n, w]\n", "shape: [n, w, n]\n", "op.yaml:3:15: `n` is given twice"},
		{"duplicate tunable value", "[32, 64, 128]", "[32, 64, 32]", "op.yaml:30:34: `block_x` has the value 32 twice"},
		{"mixed tunable values", "[32, 64, 128]", "[32, true]", "op.yaml:30:30: `block_x` mixes types: true is not of the type of 32"},
		{"no tunable values", "vec: [1, 2, 4]", "vec: []", "op.yaml:30:45: `vec` has no values"},
		{"duplicate tensor", "name: y,", "name: x,", "op.yaml:19:12: two tensors are called `x`"},
		{"undefined name", "area: kernel_h*kernel_w", "area: kernel_h*kernel_v", "op.yaml:12:18: `kernel_v` is not defined here; did you mean `kernel_h`?"},
		{"pair by its own name", "area: kernel_h*kernel_w", "area: kernel*3", "op.yaml:12:9: `kernel` is not defined here; it is known as kernel_h, kernel_w"},
		{"name of a template in a problem", "total: area*times", "total: area*block_x", "op.yaml:13:15: `block_x` is not defined here"},
		{"limit in a problem", "total: area*times", "total: area*arch", "op.yaml:13:15: `arch` is not defined here"},
		{"undefined name in a launch", "grid: [tiles, n, 1]", "grid: [tile, n, 1]", "op.yaml:35:45: `tile` is not defined here; did you mean `tiles`?"},
		{"undefined name in an explanation", "{area} is too", "{aria} is too", "op.yaml:15:27: `aria` is not defined here; did you mean `area`?"},
		{"cyclic derived values", "area: kernel_h*kernel_w", "area: total + 1", "op.yaml:12:9: the derived values need each other: area -> total -> area"},
		{"cyclic derived values of a template", "chunk: block_x*vec", "chunk: tiles", "op.yaml:32:14: the derived values need each other: tiles -> chunk -> tiles"},
		{"cyclic defaults", "default: 3, range", "default: stride, range", "op.yaml:6:33: the parameters' defaults need each other: kernel -> stride -> kernel"},
		{"bad expression", "area: kernel_h*kernel_w", "area: kernel_h*", "op.yaml:12:"},
		{"bad expression in quotes", `"1e-5 if`, `"1e-5 ) if`, "op.yaml:24:"},
		{"default not among the values", "default: {block_x: 64,", "default: {block_x: 65,", "op.yaml:36:24: the default block_x=65 is not among its values; they are [32 64 128]"},
		{"default lacks a tunable", "vec: 1, wide: false}", "vec: 1}", "op.yaml:36:14: default lacks the key `wide`"},
		{"default of an unknown tunable", "vec: 1, wide: false}", "vek: 1, wide: false}", "op.yaml:36:28: unknown key `vek`; did you mean `vec`?"},
		{"default violates a constraint", "chunk <= 256", "chunk < 64", "op.yaml:36:14: the default violates the constraint `chunk < 64` of line 34; here chunk=64"},
		{"estimate of a word", "    launch:", "    estimate: \"'low'\"\n    launch:", "op.yaml:35:16: estimate `'low'` for scale 4x100"},
		{"estimate that cannot be computed", "    launch:", "    estimate: tiles/(vec - 1)\n    launch:", "op.yaml:35:15: estimate `tiles/(vec - 1)` for scale 4x100"},
		{"undefined name in an estimate", "    launch:", "    estimate: tile*chunk\n    launch:", "op.yaml:35:15: `tile` is not defined here; did you mean `tiles`?"},
		{"default cannot be launched", "block: [block_x, 1, 1]", "block: [block_x, 1, 65]", "op.yaml:35:13: the default of template `direct` cannot be launched: 1 <= (65) <= 64 does not hold"},
		{"example cannot be bound", "area <= 900", "area <= 9", "op.yaml:4:10: the example cannot be bound: the area 15 is too large (area <= 9 is needed; here area=15)"},
		{"example of another rank", "example: 4x100", "example: 4", "op.yaml:4:10: the example cannot be bound: the shape has 2 dimensions n,w"},
		{"missing source", "source: direct.cu", "source: dirct.cu", "op.yaml:28:13: there is no source file `dirct.cu`; did you mean `direct.cu`?"},
		{"source outside the folder", "source: direct.cu", "source: ../direct.cu", "op.yaml:28:13: this must name a file in the operator's folder"},
		{"entry point missing", "source: direct.cu", "source: reference.cu", "op.yaml:28:13: `reference.cu` does not define `scale_direct`"},
		{"derived value with a dimension's name", "chunk: block_x", "w: block_x", "op.yaml:33:7: the derived value `w` has the name of a dimension"},
		{"one macro twice", "chunk: block_x", "VEC: block_x", "op.yaml:33:7: the derived value `VEC` and the tunable `vec` are one macro, VEC"},
		{"parameter with a pair's component", "times:  {", "kernel_h:  {", "op.yaml:8:3: the parameter `kernel_h` has the name of a parameter"},
		{"reserved name", "times:  {", "arch:  {", "op.yaml:8:3: the parameter `arch` has a reserved name"},
		{"not a name", "shape: [n, w]\n", "shape: [n, 2w]\n", "op.yaml:3:12: `2w` is not a name"},
		{"example of an unknown parameter", "100 kernel", "100 kernal", "op.yaml:4:10: unknown parameter `kernal`; did you mean `kernel`?"},
		{"bad value in an example", "kernel=3x5", "kernel=3x5x7", "op.yaml:4:10: `kernel` is an integer or a pair as 3x5; got `3x5x7`"},
		{"launch of four axes", "block: [block_x, 1, 1]", "block: [block_x, 1, 1, 1]", "op.yaml:35:21: block has 4 entries; it has one to three: x, y, z"},
		{"duplicate template", "templates:\n", "templates:\n  - {name: direct, source: direct.cu, launch: {block: [1, 1, 1], grid: [1, 1, 1]}}\n", "op.yaml:28:11: two templates are called `direct`"},
		{"anchor", "summary: Mult", "summary: &a Mult", "op.yaml:2:10: anchors and aliases have no place in an operator's description"},
		{"tag", "summary: Mult", "summary: !x Mult", "op.yaml:2:10: tags have no place in an operator's description"},
		{"anchor in a list", "shape: [n, w]\n", "shape: [&n n, w]\n", "op.yaml:3:9: anchors and aliases have no place in an operator's description"},
		{"nothing for an expression", "area: kernel_h*kernel_w", "area:", "op.yaml:12:"},
		{"tunable called template", "vec: [1, 2, 4]", "template: [1, 2, 4]", "op.yaml:30:40: a tunable cannot be called `template`: recordings keep the template's name under that key; call it something else"},
		{"words among numbers", "[32, 64, 128]", "[32, 0.5, fast]", "op.yaml:30:35: `block_x` mixes types: fast is not of the type of 32.0"},
		{"equal numbers", "[32, 64, 128]", "[32, 32.0]", "op.yaml:30:30: `block_x` has the value 32.0 twice"},
		{"comma without quotes in a mapping", "shared: 4*block_x", "shared: max(4, block_x)", "op.yaml:35:74: `block_x)` is no key; if the comma belongs to it, put the expression in quotes, as \"ceil_div(a, b)\""},
		{"comma without quotes among definitions", "area: kernel_h*kernel_w\n  total: area*times", "{area: 2, total: max(3, times)}", "op.yaml:12:27: `times)` is no key; if the comma belongs to it, put the expression in quotes, as \"ceil_div(a, b)\""},
		{"comma without quotes in a list", "[tiles, n, 1]", "[ceil_div(w, chunk), n, 1]", "op.yaml:35:55: bad expression `ceil_div(w`: expected ')' or an operator, found the end; if the comma belongs to it, put the expression in quotes, as \"ceil_div(a, b)\""},
		{"YAML syntax", "shape: [n, w]\n", "shape: [n, w\n", "YAML: "},
		{"tab", "  area: ", "\tarea: ", "op.yaml:12:1: YAML: "},
		{"two documents", "operator: scale", "a: b\n---\noperator: scale", "op.yaml:3:9: a second document; one op.yaml describes one operator"},
	} {
		t.Run(test.name, func(t *testing.T) {
			yaml := strings.Replace(goodOperator, test.old, test.new, 1)
			if yaml == goodOperator {
				t.Fatalf("%q is not in the operator", test.old)
			}
			_, err := Load(operatorFiles(yaml), ".")
			var fault *tree.Error
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want an *tree.Error: %s", err, test.want)
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || fault.Line == 0 {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
		})
	}
}

func TestLoadFindsFaultsInFiles(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(fstest.MapFS)
		want   string
	}{
		{"no op.yaml", func(files fstest.MapFS) { delete(files, "op.yaml") }, "op.yaml: there is no such file; an operator is a folder with an op.yaml"},
		{"empty op.yaml", func(files fstest.MapFS) { files["op.yaml"].Data = nil }, "op.yaml:1:1: the file is empty"},
		{"text only", func(files fstest.MapFS) { files["op.yaml"].Data = []byte("hello") }, "op.yaml:1:1: an operator must be a mapping"},
		{"missing include", func(files fstest.MapFS) { delete(files, "deeper.cuh") }, "own.cuh:2:11: cannot include `deeper.cuh`"},
		{"include outside", func(files fstest.MapFS) { files["own.cuh"].Data = []byte("#include \"../own.cuh\"") }, "own.cuh:1:11: cannot include `../own.cuh`"},
		{"large", func(files fstest.MapFS) { files["op.yaml"].Data = make([]byte, 1<<20) }, "op.yaml: the file has 1048576 bytes"},
		{"op.yaml is a folder", func(files fstest.MapFS) { files["op.yaml"].Mode = fs.ModeDir }, "op.yaml: the file is a folder; it must be a regular file"},
		{"large source", func(files fstest.MapFS) { files["direct.cu"].Data = make([]byte, 1<<20) }, "op.yaml:28:13: the source file `direct.cu` has 1048576 bytes; a file of an operator may have 262144"},
		{"source is a folder", func(files fstest.MapFS) { files["direct.cu"].Mode = fs.ModeDir }, "op.yaml:28:13: the source file `direct.cu` is a folder; it must be a regular file"},
		{"large include", func(files fstest.MapFS) { files["own.cuh"].Data = make([]byte, 1<<20) }, "direct.cu:1:11: cannot include `own.cuh`: it has 1048576 bytes; a file of an operator may have 262144"},
		{"include is a folder", func(files fstest.MapFS) { files["own.cuh"].Mode = fs.ModeDir }, "direct.cu:1:11: cannot include `own.cuh`: it is a folder; it must be a regular file"},
		{"many includes", includeChain, "i63.cuh:1:11: cannot include `i64.cuh`: it would be one more than the 64 files that a kernel may include"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := operatorFiles(goodOperator)
			test.change(files)
			_, err := Load(files, ".")
			refused(t, test.name, err, test.want)
		})
	}
}

// includeChain adds 100 files to a folder, each of which includes the next.
func includeChain(files fstest.MapFS) {
	files["direct.cu"].Data = append([]byte("#include \"i0.cuh\"\n"), files["direct.cu"].Data[len("#include \"own.cuh\"\n"):]...)
	for i := range 100 {
		files[fmt.Sprintf("i%d.cuh", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "#include \"i%d.cuh\"\n", i+1)}
	}
}

// Load must not open pipes, because reading a pipe that nobody writes to never ends.
func TestLoadOpensNoPipe(t *testing.T) {
	for _, name := range []string{"op.yaml", "direct.cu", "own.cuh"} {
		dir := t.TempDir()
		must.OK(t, os.CopyFS(dir, operatorFiles(goodOperator)))
		must.OK(t, os.Remove(filepath.Join(dir, name)))
		must.OK(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
		_, err := Load(os.DirFS(dir), ".")
		if err == nil || !strings.Contains(err.Error(), "is a pipe or a device; it must be a regular file") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestLoadAcceptsByteOrderMark(t *testing.T) {
	files := operatorFiles("\uFEFF" + goodOperator)
	files["own.cuh"].Data = append([]byte("\uFEFF"), files["own.cuh"].Data...)
	o := loaded(t, files)
	if direct, _ := o.Template("direct"); strings.Contains(direct.Source.Includes["own.cuh"], "\uFEFF") {
		t.Error("the mark reaches the compiler")
	}
}

// In a list of values with fractions, integers become floats, also in the kernel.
func TestLoadTakesAllNumbers(t *testing.T) {
	yaml := strings.NewReplacer("vec: [1, 2, 4]", "vec: [1, 2.5, 4]", "chunk: block_x*vec", "chunk: block_x*int(vec)").Replace(goodOperator)
	o := loaded(t, operatorFiles(yaml))
	p := bound(t, o, Request{Shape: o.Example})
	s := spaceOf(t, p)
	values := map[string]bool{}
	for i := range s.Len() {
		k := kernelAt(t, p, s.At(i))
		for _, m := range k.Macros {
			if m.Name == "VEC" {
				values[m.Value] = true
			}
		}
	}
	if want := map[string]bool{"1.0": true, "2.5": true, "4.0": true}; !maps.Equal(values, want) {
		t.Errorf("VEC is %v, want %v", values, want)
	}
	if c := p.Defaults(t.Context())[0].String(); c != "direct block_x=64 vec=1.0 wide=false" {
		t.Errorf("the default is %s", c)
	}
}

// Text in a YAML block of several lines is read like other text.
func TestLoadTakesBlocks(t *testing.T) {
	yaml := strings.NewReplacer("summary: Multiplies rows of a matrix.", "summary: |\n  Multiplies rows.", "total: area*times", "total: |\n    area*\n    times").Replace(goodOperator)
	o, err := Load(operatorFiles(yaml), ".")
	if err != nil || o.Summary != "Multiplies rows." || o.Derived[1].Formula.Text != "area* times" {
		t.Errorf("got %+v, %v", o, err)
	}
}

// Load returns quickly for any text.
func TestLoadIsQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("says nothing of code that the race detector slows down")
	}
	for name, text := range map[string]string{
		"brackets":        strings.Repeat("[", 100_000),
		"brackets, lines": strings.Repeat("[\n", 100_000),
		"entries":         strings.Repeat("- ", 100_000),
		"indents":         indented(400),
		"long list":       "shape:\n" + strings.Repeat("- a\n", 50_000),
		"long text":       "summary: " + strings.Repeat("x ", 100_000),
		"long expression": "derived: {a: " + strings.Repeat("(1+", 50_000) + "1}",
		"many keys":       manyKeys(5_000),
	} {
		start := time.Now()
		if _, err := Load(operatorFiles(text), "."); err == nil {
			t.Errorf("%s: no error", name)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s took %v", name, d)
		} else {
			t.Logf("%s took %v", name, d)
		}
	}
}

func indented(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func manyKeys(n int) string {
	var b strings.Builder
	b.WriteString("derived:\n")
	for i := range n {
		fmt.Fprintf(&b, "  k%d: 1\n", i)
	}
	return b.String()
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(goodOperator))
	f.Add([]byte(strings.Replace(likeDirect, "other.cuh", "own.cuh", 1)))
	for _, name := range OperatorNames() {
		text, err := templates.FS.ReadFile(name + "/op.yaml")
		must.OK(f, err)
		f.Add(text)
	}
	for _, text := range []string{"", "a", "- a", "a: {b: [c", "? a\n: b", "<<: {a: b}", "a: *b", "operator: 0x", "shape: [[[[", "a: |\n  b", "\"\\x\": 1", "%YAML 1.2\n---\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := Load(operatorFiles(string(text)), ".")
		if (o == nil) == (err == nil) {
			t.Fatalf("got %v and %v", o, err)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("the message has several lines: %q", err)
		}
	})
}

// The first comment of a single-file operator is its description, and errors refer to lines and columns of the file.
func TestLoadFile(t *testing.T) {
	text := must.Read(t, "../examples/saxpy.cu")
	stars := string(text)
	description, kernels, _ := strings.Cut(stars, "*/")
	slashes := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(description, "/*\n"), "\n"), "\n", "\n// ")
	slashes = "// " + slashes + "\n" + kernels
	for _, tt := range []struct{ name, text, fault string }{
		{"stars", stars, ""},
		{"slashes", slashes, ""},
		{"no comment", kernels, "saxpy.cu:1:1: the file begins with no comment that describes an operator; it starts with `/*` and `operator: NAME`"},
		{"an unknown name", strings.Replace(stars, "[12*n, 2*n]", "[12*n, 2*m]", 1), "saxpy.cu:11:16: `m` is not defined here"},
		{"an unknown name after slashes", strings.Replace(slashes, "[12*n, 2*n]", "[12*n, 2*m]", 1), "saxpy.cu:10:19: `m` is not defined here"},
		{"another entry", strings.Replace(stars, "entry: saxpy", "entry: axpy", 1), "saxpy.cu:13:5: `saxpy.cu` does not define `axpy`"},
		{"no reference", strings.Replace(stars, "saxpy_reference", "other", 1), "saxpy.cu:2:1: `saxpy.cu` does not define `saxpy_reference`"},
	} {
		o, err := LoadFile(fstest.MapFS{"saxpy.cu": {Data: []byte(tt.text)}}, ".", "saxpy.cu")
		if tt.fault != "" {
			refused(t, tt.name, err, tt.fault)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		p := bound(t, o, Request{Shape: []int64{1024}})
		reference := referenceOf(t, p)
		if reference.Launches[0].Entry != "saxpy_reference" || strings.Contains(macrosText(reference), "THREADS=") || strings.Contains(reference.Source, "void saxpy(") {
			t.Errorf("%s: the reference is %s with%s", tt.name, reference.Launches[0].Entry, macrosText(reference))
		}
		k, err := p.Kernel(o.Templates[0].Default)
		if err != nil || k.Launches[0].Entry != "saxpy" || strings.Contains(k.Source, "operator:") || strings.Contains(k.Source, "saxpy_reference") {
			t.Errorf("%s: the kernel is %s (%v)", tt.name, k.Launches[0].Entry, err)
		}
		if line := 1 + strings.Count(reference.Source[:strings.Index(reference.Source, "saxpy_reference")], "\n"); line != 1+strings.Count(tt.text[:strings.Index(tt.text, "saxpy_reference(")], "\n") {
			t.Errorf("%s: the reference moved to line %d", tt.name, line)
		}
	}
	var fault *tree.Error
	if _, err := LoadFile(fstest.MapFS{}, ".", "saxpy.cu"); !errors.As(err, &fault) || fault.File != "saxpy.cu" {
		t.Errorf("no file: %v", err)
	}
}

// Adding a template to a file does not change the kernels of the existing templates.
func TestOneFileGrows(t *testing.T) {
	const before = `// operator: twice
// summary: Doubles.
// shape: [n]
// example: 64
// tensors:
//   - {name: x, role: input, shape: [n]}
//   - {name: y, role: output, shape: [n]}
// cost: [8*n]
// templates:
//   - name: plain
//     tunables: {threads: [32, 64]}
//     launch: {block: [threads, 1, 1], grid: ["ceil_div(n, threads)", 1, 1]}
//     default: {threads: 32}
template <int N_> __device__ float doubled(float x) { return N_ * x; }
extern "C" __global__ void twice_reference(const float* x, float* y) {
    y[blockIdx.x * blockDim.x + threadIdx.x] = 2 * x[blockIdx.x * blockDim.x + threadIdx.x];
}
extern "C" __global__ void twice_plain(const float* x, float* y) { y[blockIdx.x * THREADS + threadIdx.x] = doubled<2>(x[0]); }
`
	digests := func(text string) (all []string) {
		o, err := LoadFile(fstest.MapFS{"twice.cu": {Data: []byte(text)}}, ".", "twice.cu")
		must.OK(t, err)
		p := bound(t, o, Request{Shape: o.Example})
		reference, err := p.ReferenceDigest()
		must.OK(t, err)
		all = append(all, reference)
		for _, template := range o.Templates {
			k := kernelAt(t, p, template.Default)
			all = append(all, k.Digest())
		}
		return all
	}
	const kernel = "// The second.\nextern \"C\" __global__ void twice_runs(const float* x, float* y) { for (int i = 0; i < VEC; i++) y[i] = 2 * x[i]; }\n"
	grown := strings.Replace(before, "//     default: {threads: 32}\n", `//     default: {threads: 32}
//   - name: runs
//     tunables: {vec: [1, 2]}
//     launch: {block: [32, 1, 1], grid: ["ceil_div(n, 32*vec)", 1, 1]}
//     default: {vec: 2}
`, 1) + kernel
	old, now := digests(before), digests(grown)
	if len(old) != 2 || len(now) != 3 || old[0] != now[0] || old[1] != now[1] {
		t.Errorf("%q became %q", old, now)
	}
	mistaken := digests(strings.Replace(grown, "2 * x[i]; }", "2 * xx[i]; }", 1))
	if mistaken[0] != now[0] || mistaken[1] != now[1] || mistaken[2] == now[2] {
		t.Errorf("an edit of the last: %q became %q", now, mistaken)
	}
	shared := digests(strings.Replace(grown, "return N_ * x", "return x * N_", 1))
	for i := range shared {
		if shared[i] == now[i] {
			t.Errorf("an edit of what all share leaves %s", now[i])
		}
	}
}

func macrosText(k Kernel) string {
	text := " "
	for _, m := range k.Macros {
		text += m.Name + "=" + m.Value + " "
	}
	return text
}

// If the default of a template is the reference, the launches of the reference are those of the template.
func TestReferenceTemplate(t *testing.T) {
	text := must.Read(t, "../examples/saxpy.cu")
	load := func(reference string) (*Operator, error) {
		changed := strings.Replace(string(text), "cost:", reference+"\ncost:", 1)
		return LoadFile(fstest.MapFS{"saxpy.cu": {Data: []byte(changed)}}, ".", "saxpy.cu")
	}
	o, err := load("reference: strided")
	must.OK(t, err)
	p := bound(t, o, Request{Shape: []int64{1024}})
	reference, err := p.Reference()
	if err != nil || reference.Launches[0].Entry != "saxpy" || reference.Launches[0].Block[0] != 256 || reference.Launches[0].Grid[0] != 4 {
		t.Errorf("the reference is %s with %+v (%v)", reference.Launches[0].Entry, reference.Launches, err)
	}
	if _, err := load("reference: stridden"); err == nil || !strings.Contains(err.Error(), "no template `stridden`; did you mean `strided`?") {
		t.Errorf("a template that is not there: %v", err)
	}
}

var update = flag.Bool("update", false, "write docs/writing-an-operator.md's tables of keys anew")

var keyTable = regexp.MustCompile(`(?s)(<!-- keys of ([a-z ]+) -->\n).*?(<!-- end of keys -->\n)`)

// The documentation's tables contain the keys of keys.txt.
func TestKeyTables(t *testing.T) {
	const file = "../docs/writing-an-operator.md"
	page := must.Read(t, file)
	documented := map[string]bool{}
	want := keyTable.ReplaceAllStringFunc(string(page), func(part string) string {
		parts := keyTable.FindStringSubmatch(part)
		documented[parts[2]] = true
		var table strings.Builder
		for _, key := range mappings()[parts[2]] {
			star := ""
			if key.required {
				star = "*"
			}
			table.WriteString("| `" + key.name + "`" + star + " | " + key.value + " | " + key.meaning + " |\n")
		}
		if table.Len() == 0 {
			t.Errorf("%s: keys.txt has no %s", file, parts[2])
		}
		return parts[1] + "| key | value | meaning |\n| --- | --- | --- |\n" + table.String() + parts[3]
	})
	for _, what := range sorted(mappings()) {
		if what != "a problem" && !documented[what] {
			t.Errorf("%s: no table has the keys of %s", file, what)
		}
	}
	for name := range fillForms {
		if row := "\n| `" + fillForm(name) + "` |"; !strings.Contains(want, row) {
			t.Errorf("%s: the table of fills lacks %s", file, row)
		}
	}
	if want == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s: its tables of keys are not those of keys.txt; `go test ./operator -run TestKeyTables -update` writes them", file)
	}
	must.OK(t, os.WriteFile(file, []byte(want), 0o644))
}
