package t1

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"autotune/tuner/device/emulator"
	"autotune/tuner/draft"
	"autotune/tuner/operator"
)

// blend is a kernel as others write them: macros in lower case, no extern "C", types
// of all kinds, and an argument that is no vector.
const blend = `
#ifndef block_size_x
    #define block_size_x 32
#endif
#if kernel_tuner != 1
    #error this is for tuners
#endif
__global__ void __launch_bounds__(block_size_x * block_size_y)
blend(float *out, const float *a, const unsigned char *mask, double *sums, float share, int n) {
    for (int t = 0; t < tile; ++t) {
        int i = (blockIdx.x * tile + t) * block_size_x + threadIdx.x;
        if (i >= n) return;
        out[i] = mask[i] ? a[2 * i] * share : a[2 * i + 1];
        sums[i] += out[i];
    }
}
`

const document = `{
  "General": {"BenchmarkName": "blending", "FormatVersion": 1, "LoggingLevel": "Off"},
  "ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "block_size_x", "Type": "int", "Values": "[16, 32] + list(range(64, 128+1, 32))", "Default": 48},
      {"Name": "tile", "Type": "int", "Values": "[i for i in range(1, 4)]", "Default": 3}
    ],
    "Conditions": [{"Expression": "block_size_x * tile <= 128", "Parameters": ["block_size_x", "tile"]}]
  },
  "Search": {"Name": "RandomSearch"}, "verification": {"type": "CPU"},
  "Budget": [{"Type": "TuningDuration", "BudgetValue": 60}],
  "KernelSpecification": {
    "Language": "CUDA", "CompilerOptions": ["-std=c++11"], "KernelName": "blend", "KernelFile": "blend.cu",
    "GlobalSizeType": "CUDA", "GlobalSize": {"X": "(262144 // block_size_x) // tile"}, "LocalSize": {"X": "block_size_x", "Y": "block_size_y"},
    "GridDivX": ["block_size_x", "tile"], "ProblemSize": [1000], "SharedMemory": 0, "Stream": null, "Profiling": true,
    "Arguments": [
      {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "FillType": "Constant", "FillValue": 0.0, "Size": "ProblemSize[0]", "Output": 1},
      {"Name": "a", "Type": "float2", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random", "FillValue": 7.5, "Size": "ProblemSize[0] + max(tile) - 3"},
      {"Name": "mask", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "BinaryRaw", "DataSource": "mask.bin", "Size": 1000, "RandomSeed": 3},
      {"Name": "sums", "Type": "double", "MemoryType": "Vector", "AccessType": "ReadWrite", "FillType": "Constant", "FillValue": 1.5, "Size": 1000},
      {"Name": "share", "Type": "float", "MemoryType": "Scalar", "AccessType": "ReadOnly", "FillValue": 0.25},
      {"Type": "int32", "MemoryType": "Scalar", "FillValue": 1000.0}
    ]
  }
}`

func read(t *testing.T, text string) *Document {
	t.Helper()
	d, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// loaded is the operator of a draft with its kernel.
func loaded(t *testing.T, o draft.Operator, source string) *operator.Operator {
	t.Helper()
	o.Template.Source = "kernel.cu"
	op, err := operator.Load(fstest.MapFS{"op.yaml": {Data: []byte(o.YAML())}, "kernel.cu": {Data: []byte(source)}}, ".")
	if err != nil {
		t.Fatalf("%v\n%s", err, o.YAML())
	}
	return op
}

func TestOperator(t *testing.T) {
	o, notes, err := read(t, document).Operator(t.Context(), blend)
	if err != nil {
		t.Fatal(err)
	}
	want := `operator: blend
summary: The kernel blend of the benchmark blending.
macros: same
shape: [problem_x]
example: "1000"
# A document is of one problem. Where the kernel and the sizes follow the shape, this can go.
requires:
  - {that: problem_x == 1000, because: the document describes no other problem}
tensors:
  - {name: out, role: output, type: f32, shape: [problem_x]}
  - {name: a, role: input, type: f32, shape: [2*(problem_x + 3 - 3)]}
  - {name: mask, role: input, type: u8, shape: [1000]}
  - {name: sums, role: inout, type: f64, shape: [1000], fill: constant(1.5)}
  - {name: share, type: f32, value: 0.25}
  - {name: n, type: i32, value: 1000}
inputs: [normal, uniform01, negative, special]
cost: {bytes: 4*(problem_x) + 4*(2*(problem_x + 3 - 3)) + 1*(1000) + 8*(1000)}
# What the default makes is taken for right; a kernel of its own would prove it.
reference: {template: blend}
templates:
  - name: blend
    source: kernel.cu
    entry: blend
    tunables:
      block_size_x: [16, 32, 64, 96, 128]
      tile: [1, 2, 3]
    derived:
      kernel_tuner: 1
      block_size_y: 1
    constraints:
      - block_size_x * tile <= 128
    launch:
      block: [block_size_x, 1, 1]
      grid: ["ceil_div(problem_x, block_size_x*tile)", 1, 1]
    default: {block_size_x: 16, tile: 3}
`
	op := loaded(t, o, blend)
	o.Template.Source = "kernel.cu"
	if got := o.YAML(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	wantNotes := `Budget is left out: --budget and --time of search
ConfigurationSpace.TuningParameters: the default 48 of block_size_x is not among its values
KernelSpecification.Arguments[0].FillType is left out: autotune fills outputs with a pattern that shows which elements no thread writes
KernelSpecification.Arguments[1].FillValue is left out: 7.5 of random numbers says nothing
KernelSpecification.Arguments[2].FillType is left out: BinaryRaw has no equivalent, and mask holds random numbers
KernelSpecification.Arguments[2].RandomSeed is left out: a search and its gates have seeds of their own
KernelSpecification.Arguments[2].Type is left out: the kernel takes unsigned char, which is u8
KernelSpecification.CompilerOptions: -std=c++11 is left out; kernels are compiled as C++17
KernelSpecification.GlobalSize is left out: the grid is ProblemSize divided by GridDivX, GridDivY and GridDivZ
Search is left out: --strategy of search
verification has no equivalent
General.LoggingLevel has no equivalent
KernelSpecification.Profiling has no equivalent`
	if got := strings.Join(notes, "\n"); got != wantNotes {
		t.Errorf("got\n%s\nwant\n%s", got, wantNotes)
	}
	if err := op.CheckSignatures(); err != nil {
		t.Error(err)
	}
	p, err := op.Bind(operator.Request{Shape: op.Example}, emulator.Limits())
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Space(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	valid := int64(0) // by hand: the condition over all values
	for _, block := range []int{16, 32, 64, 96, 128} {
		for tile := 1; tile <= 3; tile++ {
			if block*tile <= 128 {
				valid++
			}
		}
	}
	if s.Len() != valid {
		t.Errorf("%d configurations, want %d", s.Len(), valid)
	}
}

// The grid is GlobalSize where the document has no ProblemSize.
func TestGlobalSize(t *testing.T) {
	for _, c := range []struct{ kind, x, want string }{
		{"CUDA", "1000 // block_size_x + 1", "1000 // block_size_x + 1"},
		{"OpenCL", "1000", "ceil_div(1000, block_size_x)"},
	} {
		text := strings.Replace(document, `"ProblemSize": [1000], `, "", 1)
		text = strings.Replace(text, "(262144 // block_size_x) // tile", c.x, 1)
		text = strings.ReplaceAll(strings.Replace(text, `"CUDA", "GlobalSize"`, `"`+c.kind+`", "GlobalSize"`, 1), `"ProblemSize[0]`, `"1000`)
		o, notes, err := read(t, text).Operator(t.Context(), blend)
		if err != nil {
			t.Fatal(err)
		}
		if o.Template.Grid[0] != c.want || !strings.Contains(strings.Join(notes, "\n"), "ProblemSize is missing") {
			t.Errorf("%s: grid %q, notes %q", c.kind, o.Template.Grid, notes)
		}
	}
}

// What lies in constant memory is a symbol, and passed as well where the kernel takes it.
func TestConstantMemory(t *testing.T) {
	text := strings.Replace(document, `"Name": "mask", "Type": "float", "MemoryType": "Vector"`, `"Name": "mask", "Type": "uint8", "MemType": "Constant", "MemoryType": "Vector"`, 1)
	for _, c := range []struct{ name, source, want string }{
		{"passed too", "__constant__ unsigned char mask[1000];" + blend, "out a mask_passed sums share n mask@mask"},
		{"not passed", strings.Replace("__constant__ unsigned char mask[1000];"+blend, "const unsigned char *mask, ", "", 1), "out a sums share argument_6 mask@mask"},
		{"no variable", blend, "out a mask sums share n"},
	} {
		o, _, err := read(t, text).Operator(t.Context(), c.source)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range o.Arguments {
			if a.Symbol != "" {
				a.Name += "@" + a.Symbol
			}
			got = append(got, a.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.name, strings.Join(got, " "), c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"version", `"FormatVersion": 1`, `"FormatVersion": 2`, "its FormatVersion is 2; this version reads 1"},
		{"language", `"Language": "CUDA"`, `"Language": "OpenCL"`, `KernelSpecification.Language is "OpenCL"; kernels of CUDA can be imported`},
		{"no kernel", `"KernelName": "blend"`, `"KernelName": ""`, `KernelName is ""; it must be the kernel's name`},
		{"no file", `"KernelFile": "blend.cu",`, ``, "KernelSpecification.KernelFile is missing"},
		{"memory", `"MemoryType": "Vector", "AccessType": "WriteOnly"`, `"MemoryType": "Local", "AccessType": "WriteOnly"`, `Arguments[0].MemoryType is "Local", which has no equivalent`},
		{"size", `"Size": "ProblemSize[0]"`, `"Size": "ProblemSize[1]"`, "Arguments[0].Size: "},
		{"size of a tunable", `"Size": "ProblemSize[0]"`, `"Size": "depth"`, "Arguments[0].Size: `depth` is neither a tuning parameter nor the problem's size"},
		{"no values", `"Values": "[i for i in range(1, 4)]", `, ``, "ConfigurationSpace: the tunable tile has no Values"},
		{"condition", "block_size_x * tile <= 128", "block_size_x * tile <= 12", "no configuration satisfies the conditions"},
		{"bad condition", "block_size_x * tile <= 128", "block_size_x *", "constraint 1"},
		{"problem", `"ProblemSize": [1000]`, `"ProblemSize": [0]`, "ProblemSize[0] is \"0\"; it must be a whole number above 0"},
		{"access", `"AccessType": "ReadOnly", "FillType": "Random"`, `"AccessType": "Sometimes", "FillType": "Random"`, `Arguments[1].AccessType is "Sometimes"`},
		{"cut", `"Budget"`, `"Bud`, "line"},
		{"kernels of an early draft", `"Search":`, `"function_specification": [{}, {}], "Search":`, "has 2 kernels: write a document with a KernelSpecification for each of them"},
		{"misspelt size", `"Size": "ProblemSize[0]"`, `"Size": "tiles"`, "`tiles` is neither a tuning parameter nor the problem's size; did you mean tile?"},
		{"one argument more", `{"Type": "int32", "MemoryType": "Scalar", "FillValue": 1000.0}`, `{"Type": "int32", "MemoryType": "Scalar", "FillValue": 1}, {"Name": "more", "Type": "int32", "MemoryType": "Scalar", "FillValue": 1}`,
			"Arguments has 7 that are passed, and the kernel blend takes 6; it names no parameter more: take out what it does not take"},
		{"one argument less", `,
      {"Type": "int32", "MemoryType": "Scalar", "FillValue": 1000.0}`, ``, "add the one that is missing"},
		{"not an object", `"LocalSize": {"X": "block_size_x", "Y": "block_size_y"}`, `"LocalSize": 3`, "KernelSpecification.LocalSize must be an object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(document, c.old, c.new, 1)
			if text == document {
				t.Fatal("nothing was replaced")
			}
			d, err := Read(strings.NewReader(text))
			if err == nil {
				_, _, err = d.Operator(t.Context(), blend)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// Documents of strangers: each class that the benchmark collections have, in small.
func TestStrangers(t *testing.T) {
	const small = `{"General": {"BenchmarkName": "b", "FormatVersion": "0.0.1"}, "ConfigurationSpace": {"TuningParameters": [
		{"Name": "T", "Values": "[32, 64]", "Default": 32}, {"Name": "MAX_THREADS", "Values": [1024], "Default": 1}],
		"Conditions": [{"Expression": "T <= MAX_THREADS"}], "constraints": ["T > 1"]}, "BenchmarkConfig": {"WIDE": 1, "iterations": 3},
		"KernelSpecification": {"Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu", "LocalSize": {"X": "T"}, "GlobalSize": {"X": "4"},
		"Arguments": [{"Name": "x", "Type": "TYPE", "MemoryType": "Vector", "AccessType": "ReadOnly", "Size": 128, "FillType": "Random"},
		{"Name": "y", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": 128}]}}`
	for _, c := range []struct{ name, kind, source, want, notes string }{
		{"plain", "float", "__global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }", "x:input:f32:128 y:output:f32:128", "constraints has no equivalent"},
		{"a vector", "float4", "__global__ void k(const float4* x, float* y) { y[0] = x[0].x; }", "x:input:f32:4*(128) y:output:f32:128", ""},
		{"a struct", "custom", "struct P { double a, b; };\n__global__ void k(const P* x, float* y) { y[0] = x[0].a; }", "x:input:f64:2*(128) y:output:f32:128", "custom is made of 2 f64"},
		{"no type", "custom", "__global__ void k(const Unknown* x, float* y) { y[0] = 1; }", "", `the type "custom" has no equivalent`},
		{"a macro's type", "double", "#if WIDE == 1\n#define R float\n#else\n#define R double\n#endif\n__global__ void k(const R* x, float* y) { y[0] = x[0]; }",
			"x:input:f32:128 y:output:f32:128", "the kernel takes float, which is f32"},
		{"a C++ template", "double", "template <typename R, int T> __global__ void k(const R* x, float* y) { y[0] = x[T]; }", "k<double, {T}> x:input:f64:128 y:output:f32:128", ""},
		{"nothing defines it", "float", "__global__ void k(const float* x, float* y) { y[0] = x[0] * SHARE; }", "SHARE x:input:f32:128 y:output:f32:128", "SHARE: nothing defines it"},
		{"arguments in another order", "float", "__global__ void k(float* y, const float* x) { y[0] = x[0]; }", "x:output:f32:128 y:input:f32:128", "the kernel has x as output"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, notes, err := read(t, strings.Replace(small, "TYPE", c.kind, 1)).Operator(t.Context(), c.source)
			said := strings.Join(notes, "\n")
			if err != nil {
				said = err.Error()
			}
			var got []string
			if o.Template.Entry != "k" {
				got = append(got, o.Template.Entry)
			}
			for _, own := range o.Template.Tunables[1:] {
				got = append(got, own.Name)
			}
			for _, a := range o.Arguments {
				got = append(got, a.Name+":"+a.Role+":"+a.Type+":"+a.Size)
			}
			if text := strings.Join(got, " "); text != c.want || !strings.Contains(said, c.notes) {
				t.Errorf("%s, said\n%s\nwant %s and %s", text, said, c.want, c.notes)
			}
			if err == nil {
				op := loaded(t, o, c.source)
				if err := op.CheckSignatures(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{document: true, `{"cache": {}}`: false, `{"ConfigurationSpace": {}}`: true, `[`: false, ``: false} {
		if Is([]byte(text)) != want {
			t.Errorf("Is(%.20s) is not %v", text, want)
		}
	}
}

// FuzzRead: whatever a document says, it costs little, and what makes an operator
// makes YAML that at least parses as far as the loader's own complaints.
func FuzzRead(f *testing.F) {
	f.Add([]byte(document))
	f.Add([]byte(`{"ConfigurationSpace": {"TuningParameters": []}, "KernelSpecification": {"Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu", "LocalSize": {"X": "1"}, "GlobalSize": {"X": "1"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		start := time.Now()
		d, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		o, _, err := d.Operator(t.Context(), blend)
		if err != nil {
			return
		}
		o.Template.Source = "kernel.cu"
		_, err = operator.Load(fstest.MapFS{"op.yaml": {Data: []byte(o.YAML())}, "kernel.cu": {Data: []byte(blend)}}, ".")
		if err != nil && strings.Contains(err.Error(), "YAML") {
			t.Fatalf("%v\n%s", err, o.YAML())
		}
		if took := time.Since(start); took > 10*time.Second && len(data) < 10_000 {
			t.Fatalf("took %v", took)
		}
	})
}

// A document that json makes of anything is read or refused.
func TestNeverPanics(t *testing.T) {
	var whole map[string]any
	if err := json.Unmarshal([]byte(document), &whole); err != nil {
		t.Fatal(err)
	}
	for _, odd := range []any{nil, true, 7.5, "text", []any{}, []any{[]any{1.0}}, map[string]any{"X": []any{}}} {
		kernel := whole["KernelSpecification"].(map[string]any)
		for key, was := range kernel {
			kernel[key] = odd
			text, err := json.Marshal(whole)
			if err != nil {
				t.Fatal(err)
			}
			if d, err := Read(bytes.NewReader(text)); err == nil {
				_, _, _ = d.Operator(t.Context(), blend)
			}
			kernel[key] = was
		}
	}
}

// A document of an early draft has other names for the same things.
func TestEarlyDraft(t *testing.T) {
	const early = `{"ConfigurationSpace": {"TuningParameters": [{"Name": "T", "Values": [32, 64]}], "constraints": []}, "benchmarkConfig": {"dataSize": 3},
		"kernelSpecification": {"language": "CUDA", "kernelName": "pick", "kernelFile": "k.cu", "blockSize": {"X": "T", "Y": 1}, "gridSize": {"X": "64//T"}, "arguments": [
		{"Name": "out", "Type": "float", "length": 64, "memoryType": "vector", "accessType": "ReadWrite", "fillType": "uninitialized"},
		{"Name": "at", "Type": "int", "length": 64, "memoryType": "Vector", "accessType": "ReadOnly", "fillType": "file", "path": "at.txt"},
		{"Name": "of", "Type": "float4", "length": 16, "memoryType": "Vector", "accessType": "ReadOnly", "fillType": "random"},
		{"Name": "n", "Type": "int", "memoryType": "scalar", "value": 64}]}}`
	const kernel = "__global__ void pick(float* out, int* at, float4* of, int n) {\nint i = blockIdx.x * T + threadIdx.x;\nint j = at[i];\nif (i < n) out[i] = of[j].x;\n}"
	o, notes, err := read(t, early).Operator(t.Context(), kernel)
	if err != nil {
		t.Fatal(err)
	}
	loaded(t, o, kernel)
	for _, want := range []string{"{name: out, role: inout, type: f32, shape: [64]}", `{name: at, role: input, type: i32, shape: [64], fill: "integers(0, (16) - 1)"}`,
		"{name: of, role: input, type: f32, shape: [4*(16)]}", "{name: n, type: i32, value: 64}", "block: [T, 1, 1]", "grid: [64//T, 1, 1]"} {
		if !strings.Contains(o.YAML(), want) {
			t.Errorf("no %s in\n%s", want, o.YAML())
		}
	}
	if all := strings.Join(notes, "\n"); !strings.Contains(all, "FillType is left out: the kernel finds elements by at") || !strings.Contains(all, "BenchmarkConfig.dataSize has no equivalent") {
		t.Error(all)
	}
}
