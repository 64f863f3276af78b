package emulator

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autotune/device/compile"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/operator"
)

// launchesOf returns launches of the given kernels, or of the kernel k if no kernel is given.
func launchesOf(entries ...string) operator.Launches {
	if entries == nil {
		entries = []string{"k"}
	}
	var launches operator.Launches
	for _, entry := range entries {
		launches = append(launches, operator.Launch{Entry: entry})
	}
	return launches
}

type compileError struct {
	name, source string
	includes     map[string]string
	macros       []operator.Macro
	entries      []string // nil: k
	file         string
	line         int
	message      string
}

func TestCompileErrors(t *testing.T) {
	needCompiler(t)
	cases := []compileError{
		{name: "syntax", source: "// one\n// two\nextern \"C\" __global__ void k(float* y) { y[0] = ; }\n", file: "test/k.cu", line: 3, message: "expected"},
		{name: "after dynamic shared memory", file: "test/k.cu", line: 5, message: "missing",
			source: "extern \"C\" __global__ void k(float* y) {\n  extern __shared__\n    float s[];\n  s[0] = 1;\n  y[0] = missing;\n}\n"},
		{name: "after dynamic shared memory at file scope", file: "test/k.cu", line: 2, message: "missing",
			source: "extern __shared__ float s[];\nextern \"C\" __global__ void k(float* y) { s[0] = missing; }\n"},
		{name: "include", source: "#include \"h.cuh\"\nextern \"C\" __global__ void k(float* y) {}\n", includes: map[string]string{"h.cuh": "// one\nint f() { return missing; }\n"},
			file: "h.cuh", line: 2, message: "missing"},
		{name: "static_assert", source: "extern \"C\" __global__ void k(float* y) {}\nstatic_assert(sizeof(float) == 8, \"floats are small\");\n", file: "test/k.cu", line: 2, message: "floats are small"},
		{name: "no entry", source: "extern \"C\" __global__ void other(float* y) {}\n", file: "test/k.cu", message: "no kernel k"},
		{name: "not global", source: "extern \"C\" void k(float* y) {}\n__global__ void other(float* y) {}\n", file: "test/k.cu", message: "it is not __global__"},
		{name: "syntax in a kernel that is not global", source: "extern \"C\" void k(float* y) {\n y[0] = ; }\n", file: "test/k.cu", line: 2, message: "expected"},
		{name: "word of a macro", source: "extern \"C\" __global__ void k(float* y) {\n float* p = KEEP; }\n", macros: []operator.Macro{{Name: "KEEP", Value: "none"}, {Name: "N", Value: "3"}},
			file: "test/k.cu", line: 2, message: "'none' was not declared in this scope (KEEP=none)"},
		{name: "number of a macro", source: "extern \"C\" __global__ void k(float* y) {\n y[0] = VEC.x; }\n", macros: []operator.Macro{{Name: "VEC", Value: "3"}, {Name: "N", Value: "3"}},
			file: "test/k.cu", line: 2, message: "'x'"},
		{name: "macro within a macro", source: "#define TWICE(a) ((a) + (a))\nextern \"C\" __global__ void k(float* y) {\n y[0] = TWICE(SIZE); }\n", macros: []operator.Macro{{Name: "SIZE", Value: "large"}},
			file: "test/k.cu", line: 3, message: "'large' was not declared in this scope (SIZE=large)"},
		{name: "too large", source: "__device__ float big[1 << 28] = {1};\nextern \"C\" __global__ void k(float* y) { y[0] = big[threadIdx.x]; }\n", file: "test/k.cu", message: "not enough"},
		{name: "missing header", source: "#include <no_such_header>\nextern \"C\" __global__ void k(float* y) {}\n", file: "test/k.cu", line: 1, message: "no_such_header"},
		{name: "no such template", source: "template <class T> __global__ void k(T* y) {}\n", entries: []string{"k<int>", "q<int>"}, file: "test/k.cu", message: "no kernel q<int> that is"},
		{name: "template arguments", source: "namespace a { template <class T, int N> __global__ void k(T* y) {} }\n", entries: []string{"a::k<float, 3>", "a::k<float, float>"},
			file: "test/k.cu", message: "no kernel a::k<float, float> that is"},
		{name: "within a template", source: "template <class T> __global__ void k(T* y) {\n y->missing(); }\n", entries: []string{"k<int>"}, file: "test/k.cu", line: 2, message: "missing"},
		{name: "not pointers", source: "struct S { int a[9]; }; extern \"C\" __global__ void k(float* y, S s) {}\n", file: "test/k.cu", message: "a kernel's parameters must be pointers, numbers or tensor maps"},
	}
	for sanitize, cases := range map[bool][]compileError{false: cases, true: endurance.Some(cases, 5)} {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				k := operator.Kernel{File: "test/k.cu", Source: c.source, Includes: c.includes, Macros: c.macros, Launches: launchesOf(c.entries...)}
				_, err := compilers[sanitize].Compile(t.Context(), compile.Request{Kernel: k, Arch: "host"})
				var failed *compile.Error
				if !errors.As(err, &failed) {
					t.Fatalf("error is %v", err)
				}
				if failed.File != c.file || failed.Line != c.line || !strings.Contains(failed.Message, c.message) {
					t.Errorf("%s:%d: %s\n%s", failed.File, failed.Line, failed.Message, failed.Log)
				}
			})
		}
	}
}

// A compilation that would never end is stopped soon. The allowed time is a multiple of an ordinary compilation's time,
// because the machine may be busy.
func TestCompileTimeout(t *testing.T) {
	needCompiler(t)
	slow := operator.Kernel{Launches: launchesOf(), File: "test/k.cu", Source: `
		template <int N, class T> struct Slow { enum { value = Slow<N - 1, Slow<N - 1, T>>::value + Slow<N - 1, Slow<N - 2, T>>::value }; };
		template <class T> struct Slow<0, T> { enum { value = 1 }; };
		template <class T> struct Slow<-1, T> { enum { value = 1 }; };
		extern "C" __global__ void k(float* y) { y[0] = Slow<30, int>::value; }`}
	c, err := newHostCompiler(Options{CacheDir: testCache})
	must.OK(t, err)
	defer c.Close()
	ordinary := func() time.Duration {
		begin := time.Now()
		if _, err := c.Compile(t.Context(), compile.Request{Kernel: tinyKernel(t, `extern "C" __global__ void k(float* y) { y[0] = 1.0f; }`), Arch: "host"}); err != nil {
			t.Fatal(err)
		}
		return time.Since(begin)
	}
	ordinary() // also compiles the runtime, which must not be timed below
	before := ordinary()
	begin := time.Now()
	_, err = c.Compile(t.Context(), compile.Request{Kernel: slow, Arch: "host", Timeout: 300 * time.Millisecond})
	took := time.Since(begin)
	var failed *compile.Error
	if !errors.As(err, &failed) || !failed.Timeout {
		t.Errorf("error is %v", err)
	}
	if limit := max(5*time.Second, 10*max(before, ordinary())); took > limit {
		t.Errorf("it took %v, more than %v", took, limit)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Compile(ctx, compile.Request{Kernel: slow, Arch: "host"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled compilation: %v", err)
	}
}

// If the compiler fails for a reason other than the kernel, the compilation is repeated once. If the repeated
// compilation fails too, its error is marked as Crashed, so that the cache does not keep it.
func TestCompilerInTrouble(t *testing.T) {
	needCompiler(t)
	real, err := findCompiler()
	must.OK(t, err)
	const fine, wrong = `extern "C" __global__ void k(float* y) { y[0] = 1.0f; }`, `extern "C" __global__ void k(float* y) { y[0] = none; }`
	for _, c := range []struct {
		name, source, fails string // fails is the shell command by which the compiler fails
		times, asked        int
		crashed             bool
	}{
		{"unreadable header", fine, "echo 'k.cu:1:1: fatal error: cannot read PCH file: Success'; exit 1", 1, 2, false},
		{"always unreadable", fine, "echo 'k.cu:1:1: fatal error: cannot read PCH file: Success'; exit 1", 9, 2, true},
		{"crash", fine, "echo 'k.cu:1:1: internal compiler error: Segmentation fault'; exit 1", 9, 2, true},
		{"part killed", fine, "echo 'g++: fatal error: Killed signal terminated program cc1plus'; exit 1", 1, 2, false},
		{"killed", fine, "kill -9 $$", 9, 2, true},
		{"its part killed, in a shell", fine, "exit 137", 1, 2, false},
		{"full disk", fine, "echo 'as: /tmp/k.s: No space left on device'; exit 1", 9, 2, true},
		{"limit", fine, "echo 'cc1plus: out of memory allocating 65536 bytes'; exit 1", 9, 1, true},
		{"mistake", wrong, "", 0, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			h, err := newHostCompiler(Options{CacheDir: testCache})
			must.OK(t, err)
			defer h.Close()
			// The fake compiler appends a letter to a file for each compilation, and the first compilations fail.
			text := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *'-c '*kernel.cpp*) printf x >>%s/asked; if [ $(wc -c <%[1]s/asked) -le %d ]; then %s\nfi;; esac\nexec %s \"$@\"\n",
				dir, c.times, cmp.Or(c.fails, ":"), strings.Join(real, " "))
			must.OK(t, os.WriteFile(filepath.Join(dir, "g++"), []byte(text), 0o755))
			h.command = []string{filepath.Join(dir, "g++")}
			_, err = h.Compile(t.Context(), compile.Request{Kernel: tinyKernel(t, c.source), Arch: "host"})
			var failed *compile.Error
			if works := c.source == fine && !c.crashed; works != (err == nil) || !works && (!errors.As(err, &failed) || failed.Crashed != c.crashed) {
				t.Errorf("error is %+v", err)
			}
			if asked, _ := os.ReadFile(filepath.Join(dir, "asked")); len(asked) != c.asked {
				t.Errorf("it was asked %d times, want %d", len(asked), c.asked)
			}
		})
	}
}

func TestNoCompiler(t *testing.T) {
	t.Setenv("CXX", "")
	t.Setenv("PATH", t.TempDir())
	_, err := Open(Options{})
	if !errors.Is(err, ErrNoCompiler) || !strings.Contains(err.Error(), "apt install g++") {
		t.Errorf("error is %v", err)
	}
	clang := filepath.Join(t.TempDir(), "c++")
	must.OK(t, os.WriteFile(clang, []byte("#!/bin/sh\necho clang version 19.1.7\n"), 0o755))
	for cxx, want := range map[string]string{"no-such-compiler -q": "no-such-compiler", clang: "is clang, and the emulator needs g++"} {
		t.Setenv("CXX", cxx)
		if _, err := Open(Options{}); !errors.Is(err, ErrNoCompiler) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v", cxx, err)
		}
	}
}

// A program that does not print its version in time, or prints without end, is not accepted as a compiler.
func TestCompilerThatHangs(t *testing.T) {
	for _, script := range []string{"sleep 1000", "sleep 1000 & sleep 1000", "while :; do sleep 0.01; echo g++ 12.2.0; done"} {
		began := time.Now()
		if _, err := askVersion([]string{"sh", "-c", script}, 200*time.Millisecond); err == nil || err.Error() != "no answer within 200ms" {
			t.Errorf("%s: %v", script, err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %v", script, took)
		}
	}
}

// Flags after the compiler's name in CXX are part of the key of cached binaries.
func TestCompilerFlagsAreInTheKey(t *testing.T) {
	needCompiler(t)
	keys := map[string]bool{}
	for _, cxx := range []string{"", "g++", "g++ -DAUTOTUNE_TEST"} {
		t.Setenv("CXX", cxx)
		c, err := newHostCompiler(Options{})
		if err != nil {
			t.Skip(err)
		}
		keys[c.Fingerprint()] = true
		must.OK(t, c.Close())
	}
	if len(keys) != 2 {
		t.Errorf("%d keys, want one with the flag and one without", len(keys))
	}
}

// A kernel that needs the C++ library, even without including one of its headers, is linked with it.
func TestCompilerLinksWhatIsNeeded(t *testing.T) {
	needCompiler(t)
	source := `struct S { virtual float get() { return 7.0f; } };
		extern "C" __global__ void k(const float* x, float* y) { static float kept = x[0]; S* s = new S; y[threadIdx.x] = s->get() + kept; delete s; }`
	for _, c := range compilers {
		b, err := c.Compile(t.Context(), compile.Request{Kernel: tinyKernel(t, source), Arch: "host"})
		must.OK(t, err)
		got, err := runTiny(t.Context(), b, operator.Launch{Grid: [3]int64{1, 1, 1}, Block: [3]int64{1, 1, 1}}, []float32{3}, 1)
		if err != nil || got[0] != 10 {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// The compiler uses the precompiled header of the shim, unless headers of the C++ library come before it.
func TestWordsAreCompiledAhead(t *testing.T) {
	needCompiler(t)
	for _, sanitize := range []bool{false, true} {
		c, err := newHostCompiler(Options{CacheDir: testCache, Sanitize: sanitize})
		must.OK(t, err)
		defer c.Close()
		shim, _, err := c.support.get(t.Context(), c)
		must.OK(t, err)
		const kernel = `extern "C" __global__ void k(float* y) {}`
		for source, want := range map[string]bool{kernel: true, "#include <cuda_fp16.h>\n" + kernel: true, "#include <limits>\n" + kernel: false} {
			dir, r := t.TempDir(), compile.Request{Kernel: tinyKernel(t, source), Arch: hostArch()}
			must.OK(t, c.writeSources(dir, r))
			log, err := c.run(t.Context(), dir, append(c.arguments(r, dir, shim), "-H"))
			if err != nil {
				t.Fatal(err, log)
			}
			if used := strings.Contains(log, "! "+filepath.Join(shim, words)+".gch"); used != want {
				t.Errorf("sanitized %v, %q: used %v\n%.2000s", sanitize, source, used, log)
			}
		}
	}
}

func TestRewriteDynamicShared(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"void f() { extern __shared__ T s[]; }", "void f() { typedef T autotune_dynamic_s[]; autotune_dynamic_s& s = *reinterpret_cast<autotune_dynamic_s*>(autotune_dynamic_shared()); }"},
		{"void f() {\nextern __shared__ float s[];\n}", "void f() {\ntypedef float autotune_dynamic_s[]; autotune_dynamic_s& s = *reinterpret_cast<autotune_dynamic_s*>(autotune_dynamic_shared());\n}"},
		{"// extern __shared__ float s[];", "// extern __shared__ float s[];"},
		{"extern float s[];", "extern float s[];"},
		{"__shared__ float s[4];", "__shared__ float s[4];"},
		{"namespace a { extern \"C\" {\nextern __align__(16) __shared__ unsigned char s[][4 * 2];\n}}", "namespace a { extern \"C\" {\ntypedef unsigned char autotune_dynamic_s[][4 * 2];\n#define s (*reinterpret_cast<autotune_dynamic_s*>(autotune_dynamic_shared()))\n#line 2 \"f.cu\"\n\n}}"},
	} {
		if got := rewriteDynamicShared(c.source, "f.cu"); got != c.want {
			t.Errorf("%q became\n%q, not\n%q", c.source, got, c.want)
		}
	}
}

func TestHostFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"":                                    "",
		"--use_fast_math -maxrregcount=64":    "",
		"-DN=3 -lineinfo -D M -U N":           "-DN=3 -DM -UN",
		"--define-macro=A=1 --std=c++20 -D":   "-DA=1 -std=c++20",
		"-std=c++17 -std=gnu -Xptxas -O3 -DX": "-std=c++17 -DX",
	} {
		if got := strings.Join(hostFlags(strings.Fields(flags)), " "); got != want {
			t.Errorf("%q gives %q, not %q", flags, got, want)
		}
	}
}

func TestSpinningFlags(t *testing.T) {
	for source, want := range map[string]bool{
		"float a;": false, "// volatile\nint a;": false, `asm volatile("bar.sync 0;");`: false, "a = \"volatile\";": false,
		"{ atomicMax(&s[i], most);\n  atomicAdd(p, f(1)); }": false, "x;\n atomicAdd(p, 1);": false,
		"{ while (atomicAdd(p, 0) < n) ; }": true, "for (; atomicCAS(p, 0, 1);) ;": true, "{ last = atomicAdd(p, 1); }": true, "{ atomicAdd(p, 1); volatile int* q = p; }": true,
		"volatile int* p;": true, "x = atomicAdd(p, 1);": true, "__atomic_load_n(p, 0);": true, "__ldcg(p);": true,
	} {
		if got := spinningFlags(operator.Kernel{Source: source}) != nil; got != want {
			t.Errorf("%q: %v", source, got)
		}
	}
}

func TestPlainName(t *testing.T) {
	for symbol, want := range map[string]string{
		"table": "table", "_ZL5table": "table", "_ZN12_GLOBAL__N_1L4TABEE": "TABE", "_ZN12_GLOBAL__N_13abcE": "abc", "_ZN2ns3abcE": "_ZN2ns3abcE", "_ZL99x": "_ZL99x",
	} {
		if got := plainName(symbol); got != want {
			t.Errorf("%s is %s, not %s", symbol, got, want)
		}
	}
}

// Whatever bytes a kernel's program writes, the emulator soon reads an answer or reports that there is none.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("launch\nrest\n{\"status\":\"ok\",\"time\":{\"median\":1,\"samples\":3}}\n"))
	f.Add([]byte("{\"status\":\"deadlock\",\"message\":\"block 3\"}\n{\"status\":\"ok\"}\nrest"))
	f.Add([]byte("\x00\xff\n{\"status\":\"ok\",\"launches\":-1,\"max_abs_error\":\"NaN\"}"))
	f.Fuzz(func(t *testing.T, said []byte) {
		select {
		case a := <-listen(bytes.NewReader(said), time.Minute, func() { t.Error("killed") }):
			if a.response == nil && !a.garbled && bytes.Contains(said, []byte("status")) && bytes.Count(said, []byte("\n")) == 0 {
				t.Errorf("%q is neither an answer nor garbled", said)
			}
		case <-time.After(10 * time.Second):
			t.Error("no end")
		}
	})
}
