package cudasource

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"autotune/reports"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/emulator"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// winnerOf makes a configuration of a problem a winner.
func winnerOf(t *testing.T, p *operator.Problem, at int) Winner {
	t.Helper()
	c := p.Defaults(t.Context())[at]
	b := reports.BestConfig{
		Operator: p.Operator.Name, Configuration: c, Problem: p.Record(), Target: p.Limits.Target,
		Device: device.Info{Name: "NVIDIA H100", Kind: device.CUDA}, Time: trial.Timing{Median: 2}, RecordedAt: time.Unix(1e9, 0),
	}
	w, err := Of(b, p.Operator, p.Limits, "autotune test")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// written is the winner as a .cu file.
func written(t *testing.T, w Winner) string {
	t.Helper()
	var out bytes.Buffer
	if err := w.WriteCUDA(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// host is what the runtime's headers declare of what the host function uses. A
// launch becomes a call that sees whether the kernel takes the arguments.
const host = `
enum cudaError_t { cudaSuccess };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
typedef struct CUstream_st* cudaStream_t;
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
template <class T> cudaError_t cudaFuncSetAttribute(T*, cudaFuncAttribute, int) { return cudaSuccess; }
template <class... P, class... A>
void launched(dim3, dim3, unsigned long, cudaStream_t, void (*kernel)(P...), A... arguments) {
    typedef decltype(kernel(arguments...)) nothing;
}
`

var (
	launchForm     = regexp.MustCompile(`(\w+)<<<(.*)>>>\(`)
	definitionForm = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)`)
)

// leaks complains of every macro of a text that is defined at its end. What a
// text defines only where it is missing may stay.
func leaks(text string) string {
	var b strings.Builder
	for _, match := range definitionForm.FindAllStringSubmatch(text, -1) {
		if name := match[1]; name != "INFINITY" && name != "NAN" {
			fmt.Fprintf(&b, "#ifdef %s\n#error %s leaks\n#endif\n", name, name)
		}
	}
	return b.String()
}

// What is written compiles, host function and all, and leaves no macro behind.
func TestWrittenFilesCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for some seconds")
	}
	compiler, err := emulator.NewCompiler(emulator.Options{})
	if errors.Is(err, emulator.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { compiler.Close() })
	operators, err := operator.Operators()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range operators {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			p, err := o.Bind(operator.Request{Shape: o.Example, Math: "fp32"}, emulator.Limits())
			if err != nil {
				t.Fatal(err)
			}
			w := winnerOf(t, p, len(p.Defaults(t.Context()))-1)
			text := written(t, w)
			source := host + launchForm.ReplaceAllString(text, "launched($2, $1, ") + leaks(text)
			k := operator.Kernel{Operator: o.Name, Template: w.Kernel.Template, Entry: w.Kernel.Entry, File: "export.cu", Source: source}
			_, err = compiler.Compile(t.Context(), compile.Request{Kernel: k, Arch: "host"})
			var failed *compile.Error
			if errors.As(err, &failed) {
				t.Error(failed.Log)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// The architecture is the device's own, unless the kernel needs more.
func TestArchitecture(t *testing.T) {
	for _, test := range []struct {
		operator, template, target string
		kind                       device.Kind
		want                       string
	}{
		{"conv2d", "warpgroup_gemm", "sm_90a", device.CUDA, "-arch=sm_90a "},
		{"conv2d", "warpgroup_gemm", "sm_90a", device.Emulator, "-arch=sm_90a "},
		{"conv2d", "warpgroup_gemm", "", device.CUDA, "-arch=sm_90a "}, // a document of an earlier version
		{"conv2d", "direct", "sm_90a", device.CUDA, "-arch=sm_90 "},
		{"conv2d", "direct", "sm_80", device.CUDA, "-arch=sm_80 "},
		{"conv2d", "direct", "sm_90a", device.Emulator, "-arch=native "},
		{"avg_pool1d", "direct", "", device.CUDA, "-arch=native "},
	} {
		o, err := operator.Find(test.operator)
		if err != nil {
			t.Fatal(err)
		}
		p, err := o.Bind(operator.Request{Shape: o.Example}, emulator.Limits())
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range p.Defaults(t.Context()) {
			if c.Template != test.template {
				continue
			}
			w := winnerOf(t, p, i)
			w.Best.Target, w.Best.Device.Kind = test.target, test.kind
			if text := written(t, w); !strings.Contains(text, "// Build with nvcc -O3 -std=c++17 "+test.want) {
				t.Errorf("%+v: %s", test, regexp.MustCompile(`.*nvcc.*`).FindString(text))
			}
		}
	}
}

// A tensor may have any name that op.yaml allows.
func TestHostFunctionOfOddNames(t *testing.T) {
	o, err := operator.Find("avg_pool1d")
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.Bind(operator.Request{Shape: o.Example}, emulator.Limits())
	if err != nil {
		t.Fatal(err)
	}
	w := winnerOf(t, p, 0)
	p = w.Problem
	p.Arguments[0].Name, p.Arguments[1].Name = "stream", "new"
	if text := written(t, w); !strings.Contains(text, "launch_avg_pool1d(const float* stream_, float* new_, cudaStream_t stream) {") {
		t.Error(text[len(text)-600:])
	}
}
