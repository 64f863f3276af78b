package emulator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autotune/device/compile"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/space/expr"
)

func needCompiler(t *testing.T) {
	t.Helper()
	_, err := findCompiler()
	testneeds.CXX.Opened(t, err, ErrNoCompiler)
}

func tinyKernel(t *testing.T, source string) operator.Kernel {
	t.Helper()
	k := operator.Kernel{Operator: "test", Template: "k", Launches: operator.Launches{{Entry: "k"}}, File: "test/k.cu", Source: source, Includes: map[string]string{}}
	if strings.Contains(source, "#include") {
		files, err := filepath.Glob("../../templates/include/*.cuh")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			text := must.Read(t, file)
			k.Includes[filepath.Base(file)] = string(text)
		}
	}
	return k
}

// compilers holds a plain and a sanitizing compiler, shared by all tests so that each compiles the runtime only once.
var (
	compilers = map[bool]compile.Compiler{}
	testCache = testcache.Dir()
)

func TestMain(m *testing.M) {
	code := func() int {
		defer func() {
			for _, c := range compilers {
				c.Close()
			}
		}()
		for _, sanitize := range []bool{false, true} {
			if c, err := newHostCompiler(Options{Sanitize: sanitize, CacheDir: testCache}); err == nil {
				compilers[sanitize] = compile.Cached(testCache, c)
			}
		}
		return m.Run()
	}()
	os.Exit(code)
}

func mustCompile(t *testing.T, k operator.Kernel, sanitize bool) *compile.Binary {
	t.Helper()
	needCompiler(t)
	b, err := compilers[sanitize].Compile(t.Context(), compile.Request{Kernel: k, Arch: hostArch()})
	var failed *compile.Error
	if errors.As(err, &failed) {
		t.Fatalf("%v\n%s", err, failed.Log)
	}
	must.OK(t, err)
	return b
}

func threads(grid, block int64) operator.Launch {
	return operator.Launch{Grid: [3]int64{grid, 1, 1}, Block: [3]int64{block, 1, 1}}
}

func counting(n int) []float32 {
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(i)
	}
	return data
}

func runTiny(ctx context.Context, b *compile.Binary, launch operator.Launch, in []float32, out int) ([]float32, error) {
	tensors := []HostTensor{HostTensorOf(operator.Argument{Role: operator.Input, Type: operator.F32}, in), HostTensorOf(operator.Argument{Role: operator.Output, Type: operator.F32}, make([]float32, out))}
	err := Run(ctx, b, launch, tensors)
	return tensors[1].Floats(), err
}

func integer(v int) expr.Value { return expr.Int(int64(v)) }
