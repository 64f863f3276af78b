package operator

import (
	"strings"
	"testing"
	"testing/fstest"

	"autotune/internal/test/must"
)

// signed returns an operator whose reference and template have the given C++ parameters.
func signed(t *testing.T, reference, template string) *Operator {
	t.Helper()
	files := fstest.MapFS{"op.yaml": {Data: []byte(`
operator: signed
summary: a tensor of each kind
shape: [n]
tensors:
  - {name: a, role: input, type: f16, shape: [n]}
  - {name: n, type: i64, value: n}
  - {name: y, role: output, shape: [n]}
cost: [n]
reference: r.cu
templates:
  - {name: t, source: t.cu, launch: {block: [1, 1, 1], grid: [1, 1, 1]}}
`)},
		"r.cu": {Data: []byte("extern \"C\" __global__ void signed_reference(" + reference + ") {}\n")},
		"t.cu": {Data: []byte("\n" + template + "\n")},
	}
	return loaded(t, files)
}

func TestSignatures(t *testing.T) {
	const right = "const __half* a, long long n, float* y"
	entry := func(parameters string) string { return "__global__ void signed_t(" + parameters + ") {}" }
	for _, c := range []struct{ name, reference, template, want string }{
		{"right", right, entry(right), ""},
		{"vectors, not const, other names", right, entry("half2* __restrict__ p, const long int m, float4* q"), ""},
		{"of the file's own", right, entry("const void* p, count_t m, T* q"), ""},
		{"a template", right, "template <class T> " + entry("T* p"), ""},
		{"under conditions", right, entry("const __half* a\n#if 0\n, int b\n#endif\n, long long n, float* y"), ""},
		{"two of the name", right, entry("int a") + "\n" + entry("int b"), ""},
		{"element", right, entry("const float* a, long long n, float* y"),
			"t.cu:2:39: argument 1, a: the kernel `signed_t` takes const float*, the operator has a tensor of f16, which is __half*"},
		{"scalar", right, entry("const half* a,\n    int n, float* y"), "t.cu:3:9: argument 2, n: the kernel `signed_t` takes int, the operator has a scalar of i64, which is long long"},
		{"pointer for a scalar", right, entry("const half* a, long long* n, float* y"), "takes long long*, the operator has a scalar of i64, which is long long"},
		{"scalar for a pointer", right, entry("const half* a, long long n, float y"), "takes float, the operator has an output of f32, which is float*"},
		{"const output", right, entry("const half* a, long long n, const float* y"), "takes const float*, the operator has an output of f32, which is float*"},
		{"fewer", right, entry("const half* a, float* y"), "t.cu:2:17: the kernel `signed_t` takes 2 arguments, the operator has 3"},
		{"none", right, entry("void"), "the kernel `signed_t` takes 0 arguments, the operator has 3"},
		{"reference", "const __half* a, float* y", entry(right), "r.cu:1:28: the kernel `signed_reference` takes 2 arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := signed(t, c.reference, c.template).CheckSignatures()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// A dependent launch must not let the compiler read workspaces before the kernel waits.
func TestSignaturesOfDependentLaunches(t *testing.T) {
	load := func(dependent, takes string) error {
		o, err := Load(fstest.MapFS{"op.yaml": {Data: []byte(`
operator: late
summary: a launch after another
shape: [n]
tensors:
  - {name: x, role: input, shape: [n]}
  - {name: part, role: workspace, shape: [n]}
  - {name: y, role: output, shape: [n]}
cost: [n]
reference: r.cu
templates:
  - name: t
    source: t.cu
    launch:
      - {entry: first, block: [1, 1, 1], grid: [1, 1, 1], arguments: [x, part]}
      - {entry: second, block: [1, 1, 1], grid: [1, 1, 1], dependent: ` + dependent + `, arguments: [part, y]}
`)}, "r.cu": {Data: []byte("extern \"C\" __global__ void late_reference(const float* x, float* part, float* y) {}\n")}, "t.cu": {Data: []byte(`
extern "C" __global__ void first(const float* __restrict__ x, float* __restrict__ part) {}
extern "C" __global__ void second(` + takes + `, float* __restrict__ y) {}
`)}}, ".")
		must.OK(t, err)
		return o.CheckSignatures()
	}
	const want = "argument 1, part: the kernel `second` begins before earlier launches have written this workspace"
	for _, c := range []struct{ dependent, takes, want string }{
		{"arch >= 90", "const float* __restrict__ part", want},
		{"false", "const float* __restrict__ part", ""},
		{"true", "const float* part", ""},
		{"true", "const float* part, int n, float* y) {}\nextern \"C\" __global__ void second(float* __restrict__ part", want}, // two kernels of one name with different parameters
	} {
		err := load(c.dependent, c.takes)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v, want %q", c.dependent, c.takes, err, c.want)
		}
	}
}

// The kernels of built-in operators match their op.yaml.
func TestSignaturesOfBuiltInOperators(t *testing.T) {
	operators, err := Operators()
	must.OK(t, err)
	for _, o := range operators {
		if err := o.CheckSignatures(); err != nil {
			t.Error(err)
		}
	}
}

// Macros keep the case of their names if the operator says so, and otherwise are in upper case.
func TestSameMacros(t *testing.T) {
	files := fstest.MapFS{"op.yaml": {Data: []byte(`
operator: keeps
summary: keeps the case of names
macros: same
shape: [n]
tensors:
  - {name: y, role: output, shape: [n]}
cost: [n]
reference: t
templates:
  - name: t
    source: t.cu
    tunables: {block_size_x: [1, 2], BLOCK_SIZE_X: [3, 4], idle: [1, 2]}
    derived: {Twice: 2*block_size_x}
    launch: {block: [block_size_x, 1, 1], grid: [1, 1, 1]}
    default: {block_size_x: 2, BLOCK_SIZE_X: 4, idle: 1}
`)}, "t.cu": {Data: []byte("__global__ void keeps_t(float* y) { y[BLOCK_SIZE_X] = IDLE; }\n")}}
	o := loaded(t, files)
	p, err := o.Bind(Request{Shape: []int64{7}}, Limits{})
	must.OK(t, err)
	k := kernelAt(t, p, o.Templates[0].Default)
	var got []string
	for _, m := range k.Macros {
		got = append(got, m.Name+"="+m.Value)
	}
	if want := "BLOCK_SIZE_X=4 Twice=4 block_size_x=2 idle=1 n=7"; strings.Join(got, " ") != want {
		t.Errorf("macros are %s, want %s", strings.Join(got, " "), want)
	}
	if w := o.Templates[0].Warnings(); len(w) != 1 || !strings.Contains(w[0], "no kernel (as idle)") {
		t.Errorf("warnings: %v", w)
	}
	files["op.yaml"].Data = []byte(strings.Replace(string(files["op.yaml"].Data), "macros: same", "macros: lower", 1))
	if _, err := Load(files, "."); err == nil || !strings.Contains(err.Error(), "op.yaml:4:9: unknown naming of macros `lower`; there are upper, same") {
		t.Errorf("got %v", err)
	}
}
