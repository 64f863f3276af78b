package cudafile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// shown writes a parameter as C++ declares it: const float* x.
func shown(p Parameter) string {
	text := p.Type
	if p.Const {
		text = "const " + text
	}
	if p.Pointer {
		text += "*"
	}
	if p.Alone {
		text += " alone"
	}
	if p.Unclear {
		text += "?"
	}
	return strings.TrimSpace(text + " " + p.Name)
}

// kernelNamed returns the kernel of a file with a name. kernelNamed returns false if no kernel has the name, or if
// conditions choose between several.
func kernelNamed(text, name string) (k Kernel, ok bool) {
	kernels := slices.DeleteFunc(Kernels(text), func(k Kernel) bool { return k.Name != name })
	if len(kernels) != 1 {
		return Kernel{}, false
	}
	return kernels[0], true
}

func shownAll(list []Parameter) string {
	words := make([]string, len(list))
	for i, p := range list {
		words[i] = shown(p)
	}
	return strings.Join(words, ", ")
}

func TestKernels(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", `extern "C" __global__ void k(const float* __restrict__ x, float* y, int n) {}`, "k(const float* alone x, float* y, int n)"},
		{"bare", "__global__ void k(float *y) {\n}", "k(float* y)"},
		{"void first", `extern "C" void __global__ k(unsigned char const * x, const unsigned long long n) {}`, "k(const unsigned char* x, const unsigned long long n)"},
		{"bounds", "__global__ void __launch_bounds__(THREADS * 2, 4) k(half2* y) {}", "k(half2* y) bounds THREADS * 2, 4"},
		{"bounds under a condition", "__global__\n#if blocks > 0\n__launch_bounds__(64)\n#endif\nvoid k(void) {}", "k() bounds 64"},
		{"template", "template <typename T, int Threads, bool Up = (1 > 0)>\n__global__ void k(T* y, int) {}", "<typename T, int Threads, bool Up> k(T* y, int)"},
		{"declared only", "__global__ void k(float* y);\n", ""},
		{"in comments", "// __global__ void a(float* y) {}\n/* __global__ void b(float* y) {} */\n", ""},
		{"linkage of a block", "extern \"C\" {\n__device__ int f() { return 1; }\n__global__ void k(double y[]) {}\n}", "k(double* y)"},
		{"parameters under conditions", "__global__ void k(float* y\n#ifdef MORE\n, int n\n#endif\n) {}", "k(float* y, int n) unclear"},
		{"odd ones", "__global__ void k(float** p, Tensor<float, 2> t, const int& r, a::b* q) {}", "k(float*? p, Tensor float? t, const int? r, a::b* q)"},
		{"several", "__global__ void a(int* x) { b(1); }\n__global__ void b(int* y) {}", "a(int* x); b(int* y)"},
		{"cut short", "__global__ void a(int* x", ""},
		{"global twice", "#if A\n__global__ __attribute__((x))\n#endif\n__global__ void a(int* x) {}", "a(int* x)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, k := range Kernels(c.text) {
				text := fmt.Sprintf("%s(%s)", k.Name, shownAll(k.Parameters))
				if k.Template != nil {
					text = "<" + shownAll(k.Template) + "> " + text
				}
				if k.LaunchBounds != "" {
					text += " bounds " + k.LaunchBounds
				}
				if k.Unclear {
					text += " unclear"
				}
				got = append(got, text)
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	k, ok := kernelNamed("// a kernel\n\n__global__ void k(\n    float* x,\n    int n) {}\n", "k")
	if !ok || k.Place != (Place{3, 17}) || k.Parameters[0].Place != (Place{4, 12}) || k.Parameters[1].Place != (Place{5, 9}) {
		t.Errorf("%v %+v", ok, k)
	}
	if _, ok := kernelNamed("#if A\n__global__ void k(int* a) {}\n#else\n__global__ void k(float* a) {}\n#endif\n", "k"); ok {
		t.Error("one of two was taken for the kernel")
	}
}

func TestMacros(t *testing.T) {
	text := `#define fixed 4096
#ifndef block_size_x
    #define block_size_x 16   // a comment
#endif
#ifndef N
#define N 4096
#define M (2 * N)
#ifdef FAST
#define INNER 1
#endif
#else
#define OTHER 3
#endif
#ifndef EMPTY
#define EMPTY
#endif
#ifndef FUNCTION
#define FUNCTION(x) x
#endif
`
	var got []string
	for _, m := range Macros(text) {
		got = append(got, fmt.Sprintf("%s=%s@%d", m.Name, m.Value, m.Line))
	}
	if want := "block_size_x=16@3 N=4096@6 M=(2 * N)@7"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
}

func TestCompiled(t *testing.T) {
	text := `a
/* b
c */ d // e
#if 0
f
#if X
g
#endif
#else
h
#endif
#if 1 // always
i
#elif X
j
#else
k
#endif
#ifdef X
l
#else
m
#endif
"/* n */"
#if 0`
	want := "a d h i l m \"/* n */\""
	var got []string
	for line := range strings.Lines(Compiled(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			got = append(got, line)
		}
	}
	if strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if strings.Count(Compiled(text), "\n") != strings.Count(text, "\n") {
		t.Error("lines are missing")
	}
}

func TestUse(t *testing.T) {
	k, ok := kernelNamed(`__global__ void k(float* w, float* r, float* both, float* atom, float* star, float* passed, float* cmp) {
    w[i[2] + 1] = r[0]; // r[0] = 1;
    both[1] += 2; both[0]++;
    atomicAdd(&atom[3], 1.0f);
    *star = 1;
    f(passed);
    if (cmp[0] == 1) return;
} __global__ void other() { r[0] = 1; }`, "k")
	if !ok {
		t.Fatal("no kernel")
	}
	for name, want := range map[string]Use{
		"w": {Written: true, Indices: []string{"i[2]+1"}}, "r": {Read: true, Indices: []string{"0"}},
		"both": {Read: true, Written: true, Indices: []string{"1", "0"}}, "atom": {Read: true, Written: true, Indices: []string{"3"}},
		"star": {Written: true}, "passed": {}, "cmp": {Read: true, Indices: []string{"0"}}, "": {},
	} {
		if got := k.Use(name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestElement(t *testing.T) {
	for name, want := range map[string]string{
		"float": "float", "float4": "float", "double2": "double", "uchar4": "unsigned char", "longlong2": "long long", "unsigned": "unsigned int",
		"long int": "long long", "unsigned long": "unsigned long long", "char": "signed char", "short int": "short", "std::size_t": "unsigned long long",
		"half2": "__half", "uint2": "unsigned int", "uint32_t": "unsigned int", "T": "", "scalar_t": "", "": "", "uint": "",
	} {
		if got, _ := Element(name); got != want {
			t.Errorf("Element(%q) = %q, want %q", name, got, want)
		}
	}
}

// FuzzKernels checks that reading any text ends, and that all places found lie within the text.
func FuzzKernels(f *testing.F) {
	f.Add("template <int N>\nextern \"C\" __global__ void __launch_bounds__(N) k(const float* x, int n) { x[0]; }\n#ifndef N\n#define N 3\n#endif\n")
	f.Add("extern \"C\" { __constant__ float c[3]; __global__ void k(void) {} }")
	f.Fuzz(func(t *testing.T, text string) {
		lines := 1 + strings.Count(text, "\n")
		for _, k := range Kernels(text) {
			for _, p := range append(k.Parameters, Parameter{Place: k.Place}) {
				if p.Line < 1 || p.Line > lines || p.Column < 1 {
					t.Fatalf("%+v is no place of the file", p)
				}
			}
		}
		Macros(text)
		if len(Blank(text)) != len(text) {
			t.Fatal("blanks are not in place")
		}
	})
}
