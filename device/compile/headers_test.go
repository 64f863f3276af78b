package compile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
)

// A kernel may include the CUDA toolkit's headers; if they are not installed, the error says what to install.
func TestToolkitHeaders(t *testing.T) {
	dir := t.TempDir()
	must.OK(t, os.MkdirAll(filepath.Join(dir, "include"), 0o755))
	// The fake cuda_fp16.h in this test shows that the compiler reads headers from the toolkit's folder.
	must.OK(t, os.WriteFile(filepath.Join(dir, "include", "cuda_fp16.h"), []byte("#define HALF 0.5f\n"), 0o644))
	t.Setenv("CUDA_HOME", dir)
	include := filepath.Join(dir, "include")
	if got := headerDirs(); !slices.Equal(got, []string{include}) {
		t.Fatalf("headerDirs() = %q", got)
	}
	must.OK(t, os.Mkdir(filepath.Join(include, "cccl"), 0o755))
	if got := headerDirs(); !slices.Equal(got, []string{include, filepath.Join(include, "cccl")}) {
		t.Fatalf("with libcu++ in its own folder headerDirs() = %q", got)
	}
	halving := "#include <cuda_fp16.h>\nextern \"C\" __global__ void scale(float* x) { x[0] *= HALF; }\n"
	c := openNVRTC(t, 1)
	if _, err := c.Compile(t.Context(), request(halving)); err != nil {
		t.Error(err)
	}
	if !strings.Contains(c.Fingerprint(), include) {
		t.Errorf("the folder is not in %q", c.Fingerprint())
	}
	c.headers = nil
	_, err := c.Compile(t.Context(), request(halving))
	var refused *Error
	if !errors.As(err, &refused) || !refused.NoHeaders || !strings.Contains(refused.Message, "point CUDA_HOME at a CUDA toolkit") {
		t.Errorf("without headers: %v", err)
	}
}

// The compiler finds CUB wherever a toolkit or pip installed it, and CUB's version is a part of the compiler's
// fingerprint.
func TestCUB(t *testing.T) {
	for _, at := range []string{"include", "include/cccl"} {
		t.Run(at, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"include/cuda_fp16.h": "", "include/cuda_runtime_api.h": "#define CUDART_VERSION  13000\n", at + "/cub/version.cuh": "#define CUB_VERSION 200800\n",
				// The fake block_reduce.cuh in this test shows that the compiler includes it in place of cub.cuh.
				at + "/cub/block/block_reduce.cuh": "#pragma once\nnamespace cub { template <typename T, int N> struct BlockReduce { static const int least = N; }; }\n",
				at + "/cub/cub.cuh":                "#error all of CUB\n",
			} {
				path := filepath.Join(dir, name)
				must.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
			}
			t.Setenv("CUDA_HOME", dir)
			if got := headerVersions(headerDirs()); !slices.Equal(got, []string{"CUDART_VERSION=13000", "CUB_VERSION=200800"}) {
				t.Errorf("versions %q", got)
			}
			c := openNVRTC(t, 1)
			r := request("#include <cub/cub.cuh>\nextern \"C\" __global__ void scale(float* x) { x[0] *= cub::BlockReduce<float, 32>::least; }\n")
			if _, err := c.Compile(t.Context(), r); err != nil {
				t.Error(err)
			}
			r.Kernel.Source += "float more = N + nothing;\n"
			_, err := c.Compile(t.Context(), r)
			if err == nil || !strings.Contains(err.Error(), "scale.cu:3: identifier \"nothing\"") {
				t.Errorf("the line of a fault: %v", err)
			}
			must.OK(t, os.Remove(filepath.Join(dir, at, "cub/version.cuh")))
			r.Kernel.Source += "#error no\n"
			_, err = c.Compile(t.Context(), r)
			var refused *Error
			if !errors.As(err, &refused) || !refused.NoHeaders || !strings.Contains(refused.Message, "it includes <cub/cub.cuh>, and CUB is not on this machine") {
				t.Errorf("without CUB: %v", err)
			}
		})
	}
}

// A kernel may include the installed CUB by one of its headers or by cub.cuh.
func TestInstalledCUB(t *testing.T) {
	c := openNVRTC(t, 1)
	for _, header := range []string{"cub/cub.cuh", "cub/block/block_reduce.cuh"} {
		r := request("#include <" + header + ">\nextern \"C\" __global__ void scale(float* x) {\ntypedef cub::BlockReduce<float, 64> Reduce;\n" +
			"__shared__ Reduce::TempStorage storage;\nconst float sum = Reduce(storage).Sum(x[threadIdx.x]);\nif (threadIdx.x == 0) x[0] = sum;\n}\n")
		_, err := c.Compile(t.Context(), r)
		testneeds.CUB.Opened(t, err, ErrHeaders)
	}
}

func TestCUBInstead(t *testing.T) {
	k := operator.Kernel{Source: "#include <cub/cub.cuh>\n// cub::BlockStore\nvoid f() { cub::BlockRadixSort<int, 32> a; cub :: WarpScan<int> b; cub::Sum c; }"}
	text := cubInstead(k)[wholeCUB]
	for _, want := range []string{"<cub/block/block_radix_sort.cuh>", "<cub/warp/warp_scan.cuh>"} {
		if !strings.Contains(text, "#include "+want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "store") {
		t.Error(text)
	}
	for source, want := range map[string]string{"#include <cub/block/block_scan.cuh>": "cub/block/block_scan.cuh", "#include <cuda/std/array>": "cuda/std/array", "// #include <cub/cub.cuh>": "", "#include <cuda_fp16.h>": ""} {
		k := operator.Kernel{Source: source}
		if got := strings.Join(GPUHeaders(k), " "); got != want || cubInstead(k) != nil {
			t.Errorf("%s: %q", source, got)
		}
	}
}

func TestLogError(t *testing.T) {
	tests := []struct {
		name, log string
		file      string
		line      int
		message   string
	}{
		{"error", "a.cu(3): warning: odd\na.cu(12): error: identifier \"x\" is undefined\n      y[i] = x;\n             ^\na.cu(20): error: second\n",
			"a.cu", 12, `identifier "x" is undefined`},
		{"numbered", "a.cu(7): error #20: identifier \"x\" is undefined\n", "a.cu", 7, `identifier "x" is undefined`},
		{"catastrophic", "tile.cuh(1): catastrophic error: cannot open source file \"b\"\n", "tile.cuh", 1, `cannot open source file "b"`},
		{"assembler", "ptxas error   : Entry function 'x' uses too much shared data (0x61a80 bytes, 0xc000 max)\n",
			"k.cu", 0, "Entry function 'x' uses too much shared data (0x61a80 bytes, 0xc000 max)"},
		{"fatal", "ptxas fatal   : Memory allocation failure\n", "k.cu", 0, "Memory allocation failure"},
		{"option", "nvrtc: error: invalid value for --gpu-architecture (-arch)\n", "k.cu", 0, "invalid value for --gpu-architecture (-arch)"},
		{"odd", "\nsomething else\nmore\n", "k.cu", 0, "something else"},
		{"empty", "", "k.cu", 0, "the compiler refused it without saying why"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := logError("k.cu", tt.log)
			if e.File != tt.file || e.Line != tt.line || e.Message != tt.message || e.Log != tt.log {
				t.Errorf("got %s:%d: %s", e.File, e.Line, e.Message)
			}
		})
	}
}

func TestTarget(t *testing.T) {
	for _, test := range []struct {
		compiler   string
		capability int
		want       string
	}{
		{"NVRTC 13.0", 90, "sm_90a"}, {"NVRTC 12.1", 90, "sm_90a"}, {"NVRTC 11.8", 90, "sm_90"},
		{"NVRTC 13.0", 80, "sm_80"}, {"NVRTC 13.0", 120, "sm_120"}, {"", 90, "sm_90"},
	} {
		if got := Target(test.compiler, test.capability); got != test.want {
			t.Errorf("Target(%q, %d) = %s, want %s", test.compiler, test.capability, got, test.want)
		}
	}
}
