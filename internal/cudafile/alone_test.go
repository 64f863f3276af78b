package cudafile

import (
	"strings"
	"testing"
)

func TestAlone(t *testing.T) {
	for _, test := range []struct{ name, text, keep, want string }{
		{"two", "__global__ void a(int n) { n = 1; }\n__global__ void b() {}\n", "a", "__global__ void a(int n) { n = 1; }\n"},
		{"what they share", "int f() { return 1; }\n/* b */ extern \"C\" __global__ void b() { \"}\"; }\n__global__ void a() {}", "a", "int f() { return 1; } /* b */ __global__ void a() {}"},
		{"templates", "template <int N, class T>\n__global__ void __launch_bounds__(N) b(T* y) {}\n__global__ void a() {}", "a", "__global__ void a() {}"},
		{"a block of linkage", "extern \"C\" {\n__global__ void b() {}\n__global__ void a() {}\n}", "a", "extern \"C\" { __global__ void a() {} }"},
		{"directives stay", "__global__ void b() {\n#if X\n int x; {}\n#else\n#define Y 2\n#endif\n}\n__global__ void a() {}", "a", "#if X #else #define Y 2 #endif __global__ void a() {}"},
		{"a branch that opens a block", "__global__ void b() {\n#if X\n {\n#endif\n}\n#if X\n}\n#endif\n", "a", "__global__ void b() { #if X { #endif } #if X } #endif"},
		{"a condition that goes on", "#if X\n__global__ void b() {\n#else\n__global__ void b(int) {\n#endif\n}\n", "a", "#if X __global__ void b() { #else __global__ void b(int) { #endif }"},
		{"named elsewhere", "__global__ void b() {}\n__global__ void a() { b<<<1, 1>>>(); }", "a", "__global__ void b() {} __global__ void a() { b<<<1, 1>>>(); }"},
		{"named by a macro", "#define B b\n__global__ void b() {}\n", "a", "#define B b __global__ void b() {}"},
		{"declared before", "__global__ void b();\n__global__ void b() {}", "a", "__global__ void b(); __global__ void b() {}"},
		{"behind a macro", "SPECIAL(x)\n__global__ void b() {}", "a", "SPECIAL(x) __global__ void b() {}"},
		{"not among them", "__global__ void c() {}\n__global__ void b() {}", "a", "__global__ void c() {}"},
		{"no end", "__global__ void b() { x", "a", ""},
	} {
		got := Alone(test.text, []string{"a", "b"})([]string{test.keep})
		if words := strings.Join(strings.Fields(got), " "); words != strings.TrimSpace(test.want) {
			t.Errorf("%s: got %q, want %q", test.name, words, test.want)
		}
		if len(got) != len(test.text) || strings.Count(got, "\n") != strings.Count(test.text, "\n") {
			t.Errorf("%s: lines moved in %q", test.name, got)
		}
	}
}

// Alone returns a file unchanged if it keeps all kernels; if it blanks kernels, all other text stays in place.
func FuzzAlone(f *testing.F) {
	f.Add("template <int N> __global__ void a() {}\n#if X\n__global__ void b(int) { {} }\n#endif")
	f.Add("extern \"C\" __global__ void a() { /* } */ \"}\" }")
	f.Fuzz(func(t *testing.T, text string) {
		names := []string{}
		for _, k := range Kernels(text) {
			names = append(names, k.Name)
		}
		with := Alone(text, names)
		if with(names) != text {
			t.Errorf("%q is not itself", text)
		}
		without := with(nil)
		if len(without) != len(text) {
			t.Fatalf("%q became %q", text, without)
		}
		for i := range len(text) {
			if without[i] != text[i] && without[i] != ' ' {
				t.Fatalf("%q became %q", text, without)
			}
		}
		if strings.Count(without, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q has other lines in %q", text, without)
		}
	})
}
