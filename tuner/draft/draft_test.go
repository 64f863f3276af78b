package draft

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goccy/go-yaml"

	"autotune/internal/cudafile"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space/expr"
)

func load(o Operator, text string) (*operator.Operator, error) {
	o.Source = "k.cu"
	return operator.Load(fstest.MapFS{"op.yaml": {Data: []byte(o.YAML())}, "k.cu": {Data: []byte(text)}}, ".")
}

// The op.yaml drafted from a kernel's file loads and has the file's arguments, tunables and block size.
func TestFromKernel(t *testing.T) {
	const arguments = "n:i32=size_n x:input:f32 y:output:f32"
	for _, c := range []struct{ name, text, arguments, tunables, block string }{
		{"plain", "__global__ void k(int n, const float* x, float* y) { y[threadIdx.x + n * (2 - x[0])] = x[1]; }", arguments, "", "256"},
		{"bounds", "#ifndef T\n#define T 0x40\n#endif\n__global__ void __launch_bounds__(T * 2, 3) k(int n, const float* x, float* y) { y[0] = 1; }", arguments, "T=[64]", "T * 2"},
		{"usual names", "#ifndef block_size_x\n#define block_size_x 16\n#define block_size_y 8\n#define up true\n#define half_x (block_size_x / 2)\n#endif\n" +
			"__global__ void k(int n, float* x, float* y) { y[0] = x[0]; }", arguments, "block_size_x=[16] block_size_y=[8] up=[true]", "block_size_x"},
		{"names that the kernel has", "#define size_n 4\n__global__ void k(int n, const float* x, float* y) { y[size_n] = x[0]; }", "n:i32=size_n_ x:input:f32 y:output:f32", "", "256"},
		{"no names", "__global__ void k(int, float*) {}", "argument_1:i32=size_ argument_2:inout:f32", "", "256"},
		{"no size", "__global__ void k(unsigned char* y, bool up, double share, half2* z) { y[0] += 1; *z = share; }", "y:inout:u8 up:bool=1 share:f64=value_share z:output:f16", "", "256"},
		{"atomics and unknown use", "__global__ void k(unsigned* bins, float* p, const T* q) { atomicAdd(&bins[0], 1u); f(p); }", "bins:inout:u32 p:inout:f32 q:input:f32", "", "256"},
		{"several sizes", "__global__ void k(float* y, int h, long long w) { y[h * w] = 0; }", "y:output:f32 h:i32=size_h w:i64=size_w", "", "256"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, err := Choose(c.text, "op")
			must.OK(t, err)
			o, err := FromKernel("op", c.text, k)
			must.OK(t, err)
			op, err := load(o, c.text)
			if err != nil {
				t.Fatalf("%v\n%s", err, o.YAML())
			}
			if err := op.CheckSignatures(); err != nil {
				t.Error(err)
			}
			var arguments, tunables []string
			for _, a := range o.Arguments {
				text := a.Name + ":" + a.Type + "=" + a.Value
				if a.Value == "" {
					text = a.Name + ":" + a.Role + ":" + a.Type
				}
				arguments = append(arguments, text)
			}
			for _, x := range op.Templates[0].Tunables {
				tunables = append(tunables, x.Name+"=["+scalar(x.Values[0].String())+"]")
			}
			if got := strings.Join(arguments, " "); got != c.arguments {
				t.Errorf("arguments %s, want %s", got, c.arguments)
			}
			if got := strings.ReplaceAll(strings.Join(tunables, " "), `"`, ""); got != c.tunables {
				t.Errorf("tunables %s, want %s", got, c.tunables)
			}
			if o.Block[0] != c.block {
				t.Errorf("block %s, want %s", o.Block[0], c.block)
			}
		})
	}
}

func TestFromKernelTemplate(t *testing.T) {
	const text = "template <typename T, int Threads, bool Up>\n__global__ void __launch_bounds__(Threads) k(const T* x, T* y, int n) { y[0] = x[0]; }"
	k, err := Choose(text, "op")
	must.OK(t, err)
	o, err := FromKernel("op", text, k)
	must.OK(t, err)
	if o.Entry != "k<float, {threads}, {up}>" || len(o.Tunables) != 2 || o.Block[0] != "threads" || o.Arguments[0].Type != "f32" {
		t.Errorf("%+v", o)
	}
}

func TestFromKernelRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "it defines no kernel"},
		{"__global__ void a(int* x) { x[0] = 1; }\n__global__ void b(int* x) {}", "it has several kernels, a, b; name the operator after the one that you mean, as in: autotune init a --from FILE"},
		{"__global__ void a(const float* x) {}", "a writes to none of its parameters"},
		{"template <int> __global__ void a(float* x) { x[0] = 1; }", "line 1, column 11: a template parameter of a has no name of its own"},
		{"__global__ void a(float** x) {}", "line 1, column 27: the parameter x of a is neither a number nor a pointer"},
		{"__global__ void a(float* x\n#if B\n, int n\n#endif\n) {}", "the parameters of a depend on conditions"},
	} {
		k, err := Choose(c.text, "op")
		if err == nil {
			_, err = FromKernel("op", c.text, k)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// YAML reads every text back unchanged from the form that scalar writes.
func TestScalar(t *testing.T) {
	for _, text := range []string{"a", "a: b", "yes", "N", "[1]", "a, b", "a # b", `"q"`, "'", "{x}", "%", "a\tb", "é", "- a", "1 if a else 2", "*p", "null", "a < b", "-std", "!x"} {
		var back string
		if err := yaml.Unmarshal([]byte(scalar(text)), &back); err != nil || back != text {
			t.Errorf("%q came back as %q, %v", text, back, err)
		}
	}
	if got := value(expr.String("n")); got != `"n"` {
		t.Errorf("the word n is written %s", got)
	}
}

// FuzzFromKernel checks that a draft from any file is valid YAML, and that drafting it terminates.
func FuzzFromKernel(f *testing.F) {
	f.Add("#ifndef T\n#define T 64\n#endif\ntemplate <typename X, int N> __global__ void __launch_bounds__(T) k(int n, const X* x, float* y) { y[x[0]] += 1; atomicAdd(&y[1], 2); }")
	f.Fuzz(func(t *testing.T, text string) {
		for _, k := range cudafile.Kernels(text) {
			o, err := FromKernel("op", text, k)
			if err != nil {
				continue
			}
			if _, err := load(o, text); err != nil && strings.Contains(err.Error(), "YAML") {
				t.Fatalf("%v\n%s", err, o.YAML())
			}
		}
	})
}
