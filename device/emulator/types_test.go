package emulator

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
)

// mixed describes an operator with arguments of all roles and of many types. If the number of elements is odd, tensors
// of one and two bytes per element end in the middle of a word.
const mixed = `operator: mixed
summary: A little of everything.
shape: [n]
tensors:
  - {name: a, role: input, type: f16, shape: [n]}
  - {name: k, role: input, type: i32, shape: [n], fill: "integers(-5, 5)"}
  - {name: flags, role: input, type: bool, shape: [n]}
  - {name: w, role: weight, type: f64, shape: [n], fill: within(2)}
  - {name: count, type: i64, value: n}
  - {name: gain, type: f32, value: 2.5}
  - {name: small, type: i8, value: -3}
  - {name: total, role: inout, type: u32, shape: [n], fill: "range(100, 3)"}
  - {name: spare, role: workspace, type: u8, shape: [n]}
  - {name: y, role: output, type: bf16, shape: [n]}
  - {name: code, role: output, type: u8, shape: [n]}
  - {name: exact, role: output, type: f64, shape: [n], tolerance: [0, 0]}
  - {name: far, role: output, type: i64, shape: [n], tolerance: [1]}
cost: [30*n]
reference: reference.cu
templates:
`

// mixedParameters lists the parameters of a right kernel for the operator named mixed.
const mixedParameters = "const __half* a, const int* k, const bool* flags, const double* w, long long count, float gain, signed char small, " +
	"unsigned* total, unsigned char* spare, __nv_bfloat16* y, unsigned char* code, double* exact, long long* far"

// mixedRight is the body of a right kernel for the operator named mixed, executed for each index i < count. The kernel
// mixedRight uses its workspace only after writing to it.
const mixedRight = `spare[i] = flags[i] ? 7 : 9;
	total[i] += spare[i] + small;
	y[i] = __float2bfloat16(__half2float(a[i]) * gain);
	code[i] = (unsigned char)(k[i] + 107);
	exact[i] = w[i] * 3;
	far[i] = (1ll << 40) + k[i];
`

// mixedKernel returns a kernel whose body is mixedRight followed by more. replaced contains pairs of old and new text
// for the parameters.
func mixedKernel(name, more string, replaced ...string) string {
	return "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nextern \"C\" __global__ void mixed_" + name + "(" +
		strings.NewReplacer(replaced...).Replace(mixedParameters) + ") {\n" +
		"const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= count) return;\n" + mixedRight + more + "\n}\n"
}

// simpleTemplate describes a template that launches one thread for each of n elements.
func simpleTemplate(name string) string {
	return "  - name: " + name + "\n    source: " + name + ".cu\n" +
		"    launch: {block: [64, 1, 1], grid: [\"ceil_div(n, 64)\", 1, 1]}\n"
}

func mixedOperator(t *testing.T, reference string, kernels map[string]string) *operator.Operator {
	t.Helper()
	yaml := mixed
	files := fstest.MapFS{"reference.cu": {Data: []byte(reference)}}
	for name, source := range kernels {
		yaml += simpleTemplate(name)
		files[name+".cu"] = &fstest.MapFile{Data: []byte(source)}
	}
	files["op.yaml"] = &fstest.MapFile{Data: []byte(yaml)}
	o, err := operator.Load(files, ".")
	must.OK(t, err)
	return o
}

func TestTypes(t *testing.T) {
	needCompiler(t)
	cases := []struct {
		name, more string
		parameters []string // replaced
		status     trial.Status
		message    string // a regular expression
		sanitized  string // message under the sanitizers, where it differs
	}{
		{name: "right", status: trial.OK, message: `^$`},
		{name: "unconst", parameters: []string{"const __half* a", "__half* a", "unsigned char* spare", "void* bytes", "double* exact", "double* __restrict__ exact",
			"count", "count_", "long long* far", "long* far"},
			more: "", status: trial.OK, message: `^$`},
		{name: "element", more: `if (i == 70) code[i] = 3;`, status: trial.WrongResult, message: `^code differs from the reference in 1 of 133 elements, first at \[70\]: 3 instead of 1\d\d$`},
		{name: "by_one", more: `if (i == 131) total[i] += 1;`, status: trial.WrongResult, message: `^total differs from the reference in 1 of 133 elements, first at \[131\]: (498 instead of 497|500 instead of 499)$`},
		{name: "half", more: `if (i == 1) y[i] = y[i] + y[i] + __float2bfloat16(1.0f);`, status: trial.WrongResult, message: `^y differs from the reference in 1 of 133 elements, first at \[1\]: [\d.]+ instead of [\d.]+$`},
		{name: "last_digit", more: `if (i == 2) exact[i] *= 1 + 1e-15;`, status: trial.WrongResult, message: `^exact differs from .* first at \[2\]: -?\d\.\d{10,} instead of -?\d\.\d{10,}$`},
		{name: "within", more: `far[i] += i % 3 - 1;`, status: trial.OK, message: `^$`},
		{name: "far_off", more: `if (i == 4) far[i] -= 2;`, status: trial.WrongResult, message: `^far differs from .* first at \[4\]: 1099511627\d+ instead of 1099511627\d+$`},
		{name: "unwritten", more: `if (i == 5) far[i] = 0x7adbadbb7adbadbbll;`, status: trial.WrongResult, message: `^far differs .* 8852860513258548667 instead of`},
		{name: "behind", more: `if (i == 6) code[count] = 0;`, status: trial.WrongResult, message: `^wrote 1 element past the end of code$`,
			sanitized: `behind.cu:12: out-of-bounds write of 1 byte, 0 bytes past the end of code`},
		{name: "before", more: `if (i == 6) reinterpret_cast<unsigned char*>(y)[-1] = 0;`, status: trial.WrongResult, message: `^wrote 1 element before the start of y$`,
			sanitized: `out-of-bounds write of 1 byte, 1 byte before the start of y`},
		{name: "read_behind", more: `if (i == 132) y[i] = __hmul(y[i], __float2bfloat16(__half2float(a[count])));`, status: trial.WrongResult, message: `^y differs .*: NaN instead of`,
			sanitized: `out-of-bounds read of 2 bytes, 0 bytes past the end of a`},
		{name: "input", more: `if (i == 6) const_cast<bool*>(flags)[132] = !flags[132];`, status: trial.WrongResult, message: `^wrote to flags, which is an input$`},
		{name: "float_pointer", parameters: []string{"const __half* a", "const float* x, const __half* a", "const int* k, ", "", "(k[i]", "(1"},
			status: trial.LaunchError, message: `^argument 1, a: the kernel takes const float\*, the operator has a tensor of f16, which is __half\*$`},
		{name: "short_scalar", parameters: []string{"long long count", "int count"}, status: trial.LaunchError,
			message: `^argument 5, count: the kernel takes int, the operator has a scalar of i64, which is long long$`},
		{name: "pointer_for_scalar", parameters: []string{"long long count, float gain", "long long count, const float* gain"}, status: trial.LaunchError,
			message: `^argument 6, gain: the kernel takes const float\*, the operator has a scalar of f32, which is float$`},
		{name: "constant", parameters: []string{"double* exact", "const double* exact"}, status: trial.LaunchError,
			message: `^argument 12, exact: the kernel takes const double\*, the operator has an output of f64, which is double\*$`},
		{name: "fewer", parameters: []string{", long long* far", ""}, status: trial.LaunchError, message: `^the kernel takes 12 arguments, the operator has 13$`},
	}
	kernels := map[string]string{"leans": strings.Replace(mixedKernel("leans", ""), "spare[i] = flags[i] ? 7 : 9;", "if (spare[i]) spare[i] = 1; total[i] += spare[i]; spare[i] = flags[i] ? 7 : 9;", 1)}
	for _, c := range cases {
		kernels[c.name] = mixedKernel(c.name, c.more, c.parameters...)
	}
	fix := func(name, old, new string) { kernels[name] = strings.ReplaceAll(kernels[name], old, new) }
	fix("unconst", "i >= count", "i >= count_")
	fix("unconst", "__global__ void", "__global__ void __launch_bounds__(64)")
	fix("unconst", "if (i >=", "unsigned char* const spare = static_cast<unsigned char*>(bytes);\nif (i >=")
	fix("float_pointer", "k[i]", "1")
	fix("pointer_for_scalar", "* gain)", "* *gain)")
	fix("constant", "exact[i] = w[i] * 3;", "")
	fix("fewer", "far[i] = (1ll << 40) + k[i];", "")
	cases = append(cases, cases[0])
	cases[len(cases)-1].name, cases[len(cases)-1].status, cases[len(cases)-1].message = "leans", trial.WrongResult, `^total differs from the reference in 133 of 133 elements`

	o := mixedOperator(t, mixedKernel("reference", ""), kernels)
	p, err := o.Bind(operator.Request{Shape: []int64{133}}, Limits())
	must.OK(t, err)
	for _, sanitize := range []bool{false, true} {
		b := openBench(t, Options{Sanitize: sanitize, CacheDir: testCache}, p, device.DefaultProtocol())
		for _, c := range cases {
			name := c.name
			if sanitize {
				if c.sanitized == "" && c.name != "right" {
					continue
				}
				name += " sanitized"
				if c.sanitized != "" {
					c.status, c.message = trial.Crashed, c.sanitized
				}
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b.ends(t, c.name, c.status, c.message)
			})
		}
	}
}

// A tensor that a kernel reads and writes has its original contents before each launch, whatever the outputs hold.
func TestRestores(t *testing.T) {
	needCompiler(t)
	kernels := map[string]string{"right": mixedKernel("right", "")}
	p, err := mixedOperator(t, mixedKernel("reference", ""), kernels).Bind(operator.Request{Shape: []int64{133}}, Limits())
	must.OK(t, err)
	b := openBench(t, Options{CacheDir: testCache}, p, device.DefaultProtocol())
	if o := b.check(t, "right", device.Check{Launches: 5, Exact: true}); o.Status != trial.OK {
		t.Errorf("%s: %s", o.Status, o.Message)
	}
	must.OK(t, b.session.Refill(t.Context(), device.Inputs{Distribution: "special", Seed: 3}))
	if o := b.check(t, "right", device.Check{Launches: 3, Exact: true}); o.Status != trial.OK {
		t.Errorf("on special inputs: %s: %s", o.Status, o.Message)
	}
}

// An integer output may contain the poison value, which outputs hold before a launch, as a right result. A reference
// that leaves integers unwritten is detected.
func TestReferenceLeavesIntegers(t *testing.T) {
	needCompiler(t)
	d, err := Open(Options{CacheDir: testCache})
	must.OK(t, err)
	t.Cleanup(func() { d.Close() })
	const code = "code[i] = (unsigned char)(k[i] + 107);"
	for _, c := range []struct{ body, want string }{
		{code, ""},
		{`code[i] = 0x6b;`, ""},
		{`if (i != 50 && i != 60) code[i] = 0x6b;`, `^the reference of mixed leaves 2 of 133 elements of code unwritten, the first at \[50\]$`},
		{code + ` exact[i] = 0.0 / (gain - gain);`, `^the reference of mixed gives NaN everywhere in exact, on uniform01 inputs`},
	} {
		source := strings.Replace(mixedKernel("reference", c.body), code, "", 1)
		p, err := mixedOperator(t, source, map[string]string{"right": mixedKernel("right", "")}).Bind(operator.Request{Shape: []int64{133}}, Limits())
		must.OK(t, err)
		proto := device.DefaultProtocol()
		proto.LaunchTimeout = 5 * time.Second
		err = (&bench{problem: p, device: d}).open(t, proto)
		if (err == nil) != (c.want == "") || err != nil && !regexp.MustCompile(c.want).MatchString(err.Error()) {
			t.Errorf("%q: %v; want %s", c.body, err, c.want)
		}
	}
}
