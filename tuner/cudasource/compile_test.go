package cudasource

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/internal/test/testtogether"
	"autotune/operator"
	"autotune/space/expr"
	"autotune/tuner/bestconfig"
)

// winnerOf returns the winner that uses the problem's default configuration with index `at`.
func winnerOf(t *testing.T, p *operator.Problem, at int) Winner {
	t.Helper()
	c := p.Defaults(t.Context())[at]
	b := bestconfig.Document{
		Operator: p.Operator.Name, Configuration: c, Problem: p.Record(), Target: p.Limits.Target,
		Device: device.Info{Name: "NVIDIA H100", Kind: device.CUDA}, Time: trial.Timing{Median: 2}, RecordedAt: time.Unix(1e9, 0),
	}
	w, err := Of(b, p.Operator, p.Limits, "autotune test")
	must.OK(t, err)
	return w
}

// written returns the winner as a .cu file.
func written(t *testing.T, w Winner) string {
	t.Helper()
	var out bytes.Buffer
	must.OK(t, w.WriteCUDA(&out))
	if strings.Contains(out.String(), "\n\n\n") {
		t.Errorf("blank lines follow each other in\n%s", out.String())
	}
	return out.String()
}

// host declares what the host function uses of the CUDA runtime's headers.
const host = `
enum cudaError_t { cudaSuccess };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
typedef struct CUstream_st* cudaStream_t;
enum cudaMemcpyKind { cudaMemcpyDeviceToDevice };
inline cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, unsigned long, cudaStream_t) { return cudaSuccess; }
enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization };
struct cudaLaunchAttribute { cudaLaunchAttributeID id; struct { int programmaticStreamSerializationAllowed; } val; };
struct cudaLaunchConfig_t { dim3 grid, block; unsigned long bytes; cudaStream_t stream; const cudaLaunchAttribute* attributes; unsigned count; };
inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**) { return cudaSuccess; }
inline cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, unsigned long, cudaStream_t) { return cudaSuccess; }
template <class T> cudaError_t cudaMemcpyToSymbolAsync(const T&, const void*, unsigned long, unsigned long, cudaMemcpyKind, cudaStream_t) { return cudaSuccess; }
template <class T> cudaError_t cudaFuncSetAttribute(T*, cudaFuncAttribute, int) { return cudaSuccess; }
`

// nothing is the source of an empty kernel, which is appended to a text under test so that the compiler finds an entry.
const nothing = `
extern "C" __global__ void nothing(const float*) {}
`

var (
	definitionForm = regexp.MustCompile(`(?m)^(?:[ \t]*#[ \t]*ifndef[ \t]+(\w+)\n)?[ \t]*#[ \t]*define[ \t]+(\w+)`)
	systemHeader   = regexp.MustCompile(`(?m)^#include <\w+(\.h)?>$`)     // must come before all namespaces
	emulatedHeader = regexp.MustCompile(`#include <emulated/(\w+\.cuh)>`) // uses names that the file declares
)

// leaks returns preprocessor text that fails to compile if a macro of the text is still defined at its end. A macro may
// remain defined at the end of the text if the text defines it only where it is missing (#ifndef).
func leaks(text string) string {
	var b strings.Builder
	for _, match := range definitionForm.FindAllStringSubmatch(text, -1) {
		if name := match[2]; name != match[1] {
			fmt.Fprintf(&b, "#ifdef %s\n#error %s leaks\n#endif\n", name, name)
		}
	}
	return b.String()
}

// emulatedHeaders returns the headers that a kernel includes on the emulator only, without their includes of
// elements.cuh. The kernel in this test declares names that the emulator's headers also use.
func emulatedHeaders(t *testing.T) map[string]string {
	t.Helper()
	const shim = "../../device/emulator/shim/emulated"
	texts := map[string]string{}
	entries, err := os.ReadDir(shim)
	must.OK(t, err)
	for _, e := range entries {
		text := must.Read(t, filepath.Join(shim, e.Name()))
		texts[e.Name()] = strings.ReplaceAll(string(text), "#include \"elements.cuh\"\n", "")
	}
	return texts
}

// All written files compile together with their host functions, and leave no macro defined. The compilers check the
// files without generating machine code.
func TestWrittenFilesCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for some seconds")
	}
	d, err := emulator.Open(emulator.Options{CacheDir: testcache.Dir()})
	testneeds.CXX.Opened(t, err, emulator.ErrNoCompiler)
	t.Cleanup(func() { d.Close() })
	compiler := d.Compiler()
	operators, err := operator.Operators()
	must.OK(t, err)
	var all testtogether.Source
	emulated, headers := emulatedHeaders(t), []string{"#include <emulated/elements.cuh>"}
	for i, o := range append(operators, mixed(t, "i16"), steps(t)) {
		p, err := o.Bind(operator.Request{Shape: o.Example, Math: "fp32"}, emulator.Limits())
		must.OK(t, err)
		w := winnerOf(t, p, len(p.Defaults(t.Context()))-1)
		if o.Name == "steps" {
			w.Kernel.Launches[0].Maps = []operator.TensorMap{{Words: [7]int64{1, -1}}}
		}
		text := written(t, w)
		headers = append(headers, systemHeader.FindAllString(text, -1)...)
		text = systemHeader.ReplaceAllString(text+leaks(text), "")
		text = emulatedHeader.ReplaceAllString(text, "#include \"$1\"")
		all.Add(o.Name+".cu", testtogether.Hidden(text, i), emulated, nil)
	}
	source := strings.Join(headers, "\n") + host + all.Text() + nothing
	k := operator.Kernel{Launches: operator.Launches{{Entry: "nothing"}}, File: "export.cu", Source: source, Includes: all.Includes}
	_, err = compiler.Compile(t.Context(), compile.Request{Kernel: k, Arch: "host"})
	var failed *compile.Error
	if errors.As(err, &failed) {
		t.Error(failed.Log)
	} else if err != nil {
		t.Error(err)
	}
}

// steps returns a test operator with several launches and constant memory.
func steps(t *testing.T) *operator.Operator {
	t.Helper()
	o, err := operator.Load(os.DirFS("../../internal/test/testoperators/testdata"), "steps")
	must.OK(t, err)
	return o
}

// Each launch in a written file has its own arguments and attributes; arguments in constant memory are copied into that
// memory before the launch.
func TestWrittenLaunches(t *testing.T) {
	o := steps(t)
	p, err := o.Bind(operator.Request{Shape: o.Example}, emulator.Limits())
	must.OK(t, err)
	for mode, wants := range map[int64][]string{
		0: {
			"Build with nvcc -O3 -std=c++17 -maxrregcount=64 --use_fast_math -arch=",
			"// Launch clear with grid 1x1x1, block 32x1x1.\n", "// Then launch steps::add<long long, 256> with grid 20x1x1, block 256x1x1.\n",
			"cudaMemcpyToSymbolAsync(::table, table, 64, 0, cudaMemcpyDeviceToDevice, stream)",
			"void* arguments[] = {&sum, nullptr};", "void* arguments[] = {&sum, &x, &count, nullptr};",
			"cudaLaunchKernel((const void*)steps::add<long long, 256>, dim3(20, 1, 1), dim3(256, 1, 1), arguments, 0, stream)",
		},
		1: {"cudaLaunchCooperativeKernel((const void*)together, dim3(16, 1, 1), dim3(256, 1, 1), arguments, 0, stream)"},
		2: {"attributes[0].val.clusterDim.x = 4;", "cudaLaunchKernelExC(&config, (const void*)clustered, arguments)"},
	} {
		w := winnerOf(t, p, 0)
		w.Best.Values[0].Value, w.Best.Macros = expr.Int(mode), nil
		if w, err = Of(w.Best, o, p.Limits, "autotune test"); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if text := written(t, w); !strings.Contains(text, want) {
				t.Errorf("mode %d: there is no %q in\n%s", mode, want, text)
			}
		}
	}
}

// mixed returns an operator with arguments of every role and of several types, including the type that the argument
// `small` names.
func mixed(t *testing.T, small operator.Type) *operator.Operator {
	t.Helper()
	kernel := func(entry string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`
extern "C" __global__ void ` + entry + `(const ` + small.CUDA() + `* a, double scale, const int* b, unsigned char* mask, long long* sums, double* scratch, bool up) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= N) return;
    scratch[i] = scale * b[i];
    mask[i] = up ? 1 : 0;
    sums[i] += (long long)scratch[i];
}
`)}
	}
	root := fstest.MapFS{"mixed/k.cu": kernel("mixed_k"), "mixed/reference.cu": kernel("mixed_reference"), "mixed/op.yaml": {Data: []byte(`
operator: mixed
summary: arguments of every role
shape: [n]
example: "1000"
tensors:
  - {name: a, role: weight, type: ` + string(small) + `, shape: [n]}
  - {name: scale, type: f64, value: 0.5}
  - {name: b, role: input, type: i32, shape: [n]}
  - {name: mask, role: output, type: u8, shape: [n]}
  - {name: sums, role: inout, type: i64, shape: [n]}
  - {name: scratch, role: workspace, type: f64, shape: [n]}
  - {name: up, type: bool, value: "n > 1"}
cost: [30*n, n]
reference: reference.cu
templates:
  - name: k
    source: k.cu
    tunables: {unroll: [1]}
    launch: {block: [256, 1, 1], grid: ["ceil_div(n, 256)", 1, 1]}
    default: {unroll: 1}
`)}}
	o, err := operator.Load(root, "mixed")
	must.OK(t, err)
	return o
}

// A written file shows the types of the arguments, the values of scalars, and which tensors are only read.
func TestWrittenArguments(t *testing.T) {
	o := mixed(t, operator.F16)
	p, err := o.Bind(operator.Request{Shape: o.Example}, emulator.Limits())
	must.OK(t, err)
	text := written(t, winnerOf(t, p, 0))
	for _, want := range []string{
		"\n\n#include <cuda_fp16.h>\n\n#define ",
		"// All tensors are dense and row-major, 16-byte aligned at least, and of these types and shapes:\n//     a (weight): f16, 1000\n",
		"//     scale (scalar): f64, 0.5 for this problem\n",
		"//     up (scalar): bool, true for this problem\n",
		"launch_mixed(const __half* a, double scale, const int* b, unsigned char* mask, long long* sums, double* scratch, bool up, cudaStream_t stream) {",
		"{&a, &scale, &b, &mask, &sums, &scratch, &up, nullptr};",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// A written .cu file names the architecture of the search's GPU, or a higher one if the kernel needs it.
func TestArchitecture(t *testing.T) {
	for _, test := range []struct {
		operator, template, target string
		kind                       device.Kind
		want                       string
	}{
		{"conv2d", "warpgroup_gemm", "sm_90a", device.CUDA, "-gencode=arch=compute_90a,code=sm_90a "},
		{"conv2d", "warpgroup_gemm", "sm_90a", device.Emulator, "-gencode=arch=compute_90a,code=sm_90a "},
		{"conv2d", "warpgroup_gemm", "", device.CUDA, "-gencode=arch=compute_90a,code=sm_90a "}, // document of a recording
		{"conv2d", "direct", "sm_90a", device.CUDA, "-arch=sm_90 "},
		{"conv2d", "direct", "sm_80", device.CUDA, "-arch=sm_80 "},
		{"conv2d", "direct", "sm_90a", device.Emulator, "-arch=native "},
		{"avg_pool1d", "direct", "", device.CUDA, "-arch=native "},
	} {
		o, err := operator.Find(test.operator)
		must.OK(t, err)
		p, err := o.Bind(operator.Request{Shape: o.Example}, emulator.Limits())
		must.OK(t, err)
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

// A tensor may have any name that op.yaml allows, even a reserved word of C++.
func TestHostFunctionOfOddNames(t *testing.T) {
	o, err := operator.Find("avg_pool1d")
	must.OK(t, err)
	p, err := o.Bind(operator.Request{Shape: o.Example}, emulator.Limits())
	must.OK(t, err)
	w := winnerOf(t, p, 0)
	p = w.Problem
	p.Arguments[0].Name, p.Arguments[1].Name = "stream", "new"
	if text := written(t, w); !strings.Contains(text, "launch_avg_pool1d(const float* stream_, float* new_, cudaStream_t stream) {") {
		t.Error(text[len(text)-600:])
	}
}
