package compile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/internal/worker"
	"autotune/operator"
)

func TestMain(m *testing.M) {
	worker.Dispatch(map[string]worker.Func{workerName: Worker, hogName: hog})
	os.Exit(m.Run())
}

// openNVRTC returns the real compiler, or skips the test if NVRTC is not installed.
func openNVRTC(t *testing.T, workers int) *nvrtc {
	t.Helper()
	_, _, err := openLibrary()
	testneeds.NVRTC.Opened(t, err, ErrMissing)
	c, err := newNVRTC(t.Context(), workers)
	must.OK(t, err)
	t.Cleanup(func() { must.OK(t, c.Close()) })
	return c.(*nvrtc)
}

// scale is a small kernel that does not compile without its macros.
const scale = `#include "index.cuh"
extern "C" __global__ void scale(const float* __restrict__ x, float* __restrict__ y) {
    long long i = index();
    if (i < N) y[i] = x[i] * FACTOR;
}
`

var indexHeader = map[string]string{
	"index.cuh": "#pragma once\ninline long long index() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }\n",
}

func request(source string, macros ...operator.Macro) Request {
	return Request{Arch: "sm_80", Kernel: operator.Kernel{
		Launches: operator.Launches{{Entry: "scale"}}, File: "scale.cu", Source: source, Includes: indexHeader,
		Macros: append([]operator.Macro{{Name: "N", Value: "1000"}}, macros...),
	}}
}

func good() Request { return request(scale, operator.Macro{Name: "FACTOR", Value: "2.0f"}) }

func TestCompile(t *testing.T) {
	c := openNVRTC(t, 1)
	if !strings.HasPrefix(c.Version(), "NVRTC 1") || c.Workers() != 1 {
		t.Errorf("version %q with %d workers", c.Version(), c.Workers())
	}
	b, err := c.Compile(t.Context(), good())
	must.OK(t, err)
	if !bytes.HasPrefix(b.Code, []byte("\x7fELF")) || !bytes.Contains(b.Code, []byte(".text.scale")) {
		t.Error("the binary is no cubin with the entry's code")
	}
	if b.Symbol("scale") != "scale" || b.Duration <= 0 || b.Cached {
		t.Errorf("got symbol %q, %v, cached %v", b.Symbol("scale"), b.Duration, b.Cached)
	}
}

func TestMacrosAndArchitectureReachTheCode(t *testing.T) {
	c := openNVRTC(t, 1)
	twice, thrice, newer := good(), good(), good()
	thrice.Kernel.Macros = []operator.Macro{{Name: "N", Value: "1000"}, {Name: "FACTOR", Value: "3.0f"}}
	newer.Arch = "sm_90"
	var codes [][]byte
	for _, r := range []Request{twice, thrice, newer} {
		b, err := c.Compile(t.Context(), r)
		if errors.Is(err, ErrArch) {
			t.Skip(err)
		}
		must.OK(t, err)
		codes = append(codes, b.Code)
	}
	if bytes.Equal(codes[0], codes[1]) || bytes.Equal(codes[0], codes[2]) {
		t.Error("different requests gave the same binary")
	}
}

// A kernel's macro may have the name of a parameter in the compiler's own header.
func TestMacrosAreTheKernelsAlone(t *testing.T) {
	c := openNVRTC(t, 1)
	for _, name := range []string{"size", "n", "type", "ptr", "mode"} {
		if _, err := c.Compile(t.Context(), request(scale, operator.Macro{Name: "FACTOR", Value: "2.0f"}, operator.Macro{Name: name, Value: "3"})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	c := openNVRTC(t, 1)
	header := good()
	header.Kernel.Includes = map[string]string{"index.cuh": "\n\ninline long long index() { return nothing; }\n"}
	option := good()
	option.Arch = "sm_80z" // a valid form, but no such architecture exists
	tests := []struct {
		name    string
		request Request
		file    string
		line    int
		message string
	}{
		{"undefined name", request(scale), "scale.cu", 4, "FACTOR"},
		{"in a header", header, "index.cuh", 3, "nothing"},
		{"missing header", request("\n#include \"no.cuh\"\n"), "scale.cu", 2, "no.cuh"},
		{"error directive", request("#error tiles must divide the width"), "scale.cu", 1, "tiles must divide the width"},
		{"static assertion", request("\n\nstatic_assert(N == 1, \"one only\");"), "scale.cu", 3, "one only"},
		{"too much shared memory", request(`extern "C" __global__ void scale(float* y) {
			__shared__ float a[100000]; a[threadIdx.x] = y[0]; __syncthreads(); y[1] = a[threadIdx.x ^ 1]; }`), "scale.cu", 0, "shared data"},
		{"option", option, "scale.cu", 0, "gpu-architecture"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.Compile(t.Context(), tt.request)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if e.File != tt.file || e.Line != tt.line || !strings.Contains(e.Message, tt.message) {
				t.Errorf("got %q, want %s:%d and %q\nlog: %s", e, tt.file, tt.line, tt.message, e.Log)
			}
			if e.Timeout || e.Crashed || e.Log == "" {
				t.Errorf("timeout %v, crashed %v, log %q", e.Timeout, e.Crashed, e.Log)
			}
		})
	}
	if _, err := c.Compile(t.Context(), good()); err != nil {
		t.Errorf("after errors: %v", err)
	}
}

func TestWarningsAreInTheLog(t *testing.T) {
	c := openNVRTC(t, 1)
	r := request(`extern "C" __global__ void scale(float* y) { int unused; y[0] = 1; }`)
	b, err := c.Compile(t.Context(), r)
	must.OK(t, err)
	if !strings.Contains(b.Log, "unused") {
		t.Errorf("the log is %q", b.Log)
	}
}

func TestArchitectures(t *testing.T) {
	c := openNVRTC(t, 1)
	for _, arch := range []string{"sm_10", "sm_999", "H100", ""} {
		r := good()
		r.Arch = arch
		_, err := c.Compile(t.Context(), r)
		if !errors.Is(err, ErrArch) {
			t.Errorf("%q: got %v, want ErrArch", arch, err)
		}
		if arch == "sm_999" && !strings.Contains(err.Error(), "another CUDA toolkit") {
			t.Errorf("the error gives no advice: %v", err)
		}
	}
}

// endless is a kernel that takes any compiler far longer than a test may take: a tree of 2^60 different template
// instantiations. The template arguments in endless fit 64 bits, since an overflow would end the compilation early.
const endless = `template <long long I, int DEPTH> struct Tree {
    static constexpr long long value = Tree<2 * I, DEPTH - 1>::value ^ Tree<2 * I + 1, DEPTH - 1>::value;
};
template <long long I> struct Tree<I, 0> { static constexpr long long value = I; };
extern "C" __global__ void scale(long long* y) { y[0] = Tree<1, 60>::value; }
`

func TestTimeout(t *testing.T) {
	c := openNVRTC(t, 1)
	begin := time.Now()
	r := request(endless)
	r.Timeout = 300 * time.Millisecond
	_, err := c.Compile(t.Context(), r)
	var e *Error
	if !errors.As(err, &e) || !e.Timeout {
		t.Fatalf("got %v, want a timeout", err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if _, err := c.Compile(t.Context(), good()); err != nil {
		t.Errorf("the next compilation: %v", err)
	}
}

func TestContext(t *testing.T) {
	c := openNVRTC(t, 1)
	t.Run("deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := c.Compile(ctx, request(endless))
		var e *Error
		if !errors.As(err, &e) || !e.Timeout {
			t.Errorf("got %v, want a timeout", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(200*time.Millisecond, cancel)
		_, err := c.Compile(ctx, request(endless))
		var e *Error
		if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
			t.Errorf("got %v, want Canceled", err)
		}
		if _, err := c.Compile(t.Context(), good()); err != nil {
			t.Errorf("the next compilation: %v", err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		own := openNVRTC(t, 1)
		time.AfterFunc(200*time.Millisecond, func() { _ = own.Close() })
		if _, err := own.Compile(t.Context(), request(endless)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want Canceled", err)
		}
		if _, err := own.Compile(t.Context(), good()); !errors.Is(err, context.Canceled) {
			t.Errorf("after Close: %v, want Canceled", err)
		}
	})
}

func TestCrashCostsOneCompilation(t *testing.T) {
	c := openNVRTC(t, 1)
	idle := <-c.idle
	pid := idle.PID()
	c.idle <- idle
	time.AfterFunc(200*time.Millisecond, func() { _ = syscall.Kill(pid, syscall.SIGSEGV) })
	_, err := c.Compile(t.Context(), request(endless))
	var e *Error
	if !errors.As(err, &e) || !e.Crashed || e.Timeout {
		t.Fatalf("got %v, want a crash", err)
	}
	if _, err := c.Compile(t.Context(), good()); err != nil {
		t.Errorf("the next compilation: %v", err)
	}
}

func TestParallel(t *testing.T) {
	c := openNVRTC(t, 2)
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			r := request(scale, operator.Macro{Name: "FACTOR", Value: fmt.Sprintf("%d.0f", i)})
			if i%3 == 0 {
				r = request(scale)
			}
			_, err := c.Compile(t.Context(), r)
			if (err != nil) != (i%3 == 0) {
				t.Errorf("compilation %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if len(c.idle) > 2+spare {
		t.Errorf("%d workers, want at most %d", len(c.idle), 2+spare)
	}
}

// A compilation that would use up all memory ends only its own worker process.
func TestMemoryIsBounded(t *testing.T) {
	p, err := worker.Start(t.Context(), hogName)
	must.OK(t, err)
	defer p.Close()
	for _, c := range []struct {
		gib  int
		dies bool
	}{{1, false}, {5, true}} {
		_, err := worker.Call[int, int](t.Context(), p, c.gib)
		var died *worker.DiedError
		if errors.As(err, &died) != c.dies {
			t.Errorf("%d GiB: %v", c.gib, err)
		}
	}
}

// hogName names a worker that allocates as many GiB as it is asked to, without touching the memory.
const hogName = "hog"

func hog(ctx context.Context, in io.Reader, out io.Writer) error {
	limitMemory()
	return worker.Serve(ctx, in, out, func(_ context.Context, gib int) (int, error) { return len(make([]byte, gib<<30)), nil })
}
