package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
)

// ownYAML is of an operator with something of all that is not a template: v and half come from
// files, half rounded to bf16, k and total from a kernel.
const ownYAML = `operator: own
summary: For tests.
shape: [n]
tensors:
  - {name: k, role: input, type: i32, shape: [n], fill: fill.cu}
  - {name: v, role: input, type: f32, shape: [n], fill: v.npy}
  - {name: half, role: input, type: bf16, shape: [n], fill: half.npy}
  - {name: total, role: inout, type: i64, shape: [n], fill: fill.cu}
  - {name: scale, type: f32, value: 2}
  - {name: y, role: output, type: f32, shape: [n]}
cost: [n]
deterministic: false
tolerance: compare.cu
reference: reference.cu
templates:
`

const ownTake = "const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= N) return;\n"

func ownVariant(name, wrong string) string {
	return "#include <cuda_bf16.h>\nextern \"C\" __global__ void own_" + name +
		"(const int* k, const float* v, const __nv_bfloat16* half, long long* total, float scale, float* y) {\n" + ownTake +
		"y[i] = scale * v[i] + __bfloat162float(half[i]) + k[i];\ntotal[i] += k[i];\n" + wrong + "}\n"
}

func ownProblem(t *testing.T, n int64) *operator.Problem {
	t.Helper()
	array := func(value float32) *fstest.MapFile {
		head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }\n", n)
		data := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
		data = append(data, head...)
		for i := range n {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(value*float32(i%50)))
		}
		return &fstest.MapFile{Data: data}
	}
	files := fstest.MapFS{
		"v.npy": array(1), "half.npy": array(1.001),
		"fill.cu": {Data: []byte("extern \"C\" __global__ void own_fill(int* k, long long* total, float scale, unsigned seed) {\n" + ownTake +
			"k[i] = int((i * 7 + seed) % 101);\ntotal[i] = 1000 * i + seed;\n}\n")},
		"compare.cu": {Data: []byte("extern \"C\" __global__ void own_compare(const int* k, const float* v, const void* half, const long long* total, " +
			"const long long* right, const long long* before, float scale, const float* y, const float* ref, double* error) {\n" +
			"if (blockIdx.x || threadIdx.x) return;\nfor (int i = 0; i < N; ++i) {\n*error += fabs(y[i] - ref[i]) <= 0.5f ? 0 : fabs(y[i] - ref[i]);\n" +
			"if (total[i] != right[i] || total[i] != before[i] + k[i]) *error = 1e6;\nif (y[i] > 1e5) *(int*)(long long)y[i] = 1;\n}\n}\n")},
		"reference.cu": {Data: []byte(ownVariant("reference", ""))},
	}
	yaml := ownYAML
	for name, wrong := range map[string]string{
		"right": "", "near": "if (i == 3) y[i] += 0.25f;", "far": "if (i == 3) y[i] += 2;", "nan": "if (i == 3) y[i] = __int_as_float(0x7fc00000);",
		"total": "if (i == 3) ++total[i];", "wild": "if (i == 3) y[i] = 1e6f;", "outside": "if (i == 3) y[N] = 0;",
	} {
		files[name+".cu"] = &fstest.MapFile{Data: []byte(ownVariant(name, wrong))}
		yaml += simpleTemplate(name)
	}
	files["op.yaml"] = &fstest.MapFile{Data: []byte(yaml)}
	return loaded(t, files, n)
}

// An operator's own kernels fill and compare. A right variant is found right,
// launch after launch and on other inputs. A wrong one is not.
func TestOwnKernels(t *testing.T) {
	b := openBench(t, Options{CacheDir: testCache}, ownProblem(t, 1001), device.DefaultProtocol())
	for template, want := range map[string]string{
		"right": "ok", "near": "ok",
		"far":     "wrong_result compare.cu gives 2 for how far it is from the reference; it must be 0",
		"nan":     "wrong_result compare.cu gives nan",
		"total":   "wrong_result compare.cu gives 1e+06",
		"wild":    "wrong_result the comparison with the reference cannot be used: compare.cu ends as crashed: ",
		"outside": "wrong_result wrote 1 element past the end of y",
	} {
		e := b.evaluate(t, template)
		if got := strings.ToLower(strings.TrimSpace(string(e.Status) + " " + e.Message)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", template, got, want)
		}
		if template == "near" && e.MaxAbsError != 0 {
			t.Errorf("near is %v off", e.MaxAbsError)
		}
	}
	read := func(file string) []byte {
		contents, err := os.ReadFile(filepath.Join(b.session.(*session).dir, file))
		must.OK(t, err)
		return contents
	}
	if k := int32(binary.LittleEndian.Uint32(read("k.input"))); k != 1 { // the seed is the protocol's and k the first argument
		t.Errorf("k begins with %d", k)
	}
	if half := read("half.input"); len(half) != 2*1001 || binary.LittleEndian.Uint16(half[2:]) != 0x3f80 { // 1.001 becomes 1
		t.Errorf("half holds % x...", half[:8])
	}
	must.OK(t, b.session.Refill(t.Context(), device.Inputs{Distribution: "normal", Seed: 40}))
	if k := int32(binary.LittleEndian.Uint32(read("k.input"))); k != 40 {
		t.Errorf("k begins with %d", k)
	}
	if o := b.check(t, "right", device.Check{Launches: 5, Exact: true}); o.Status != trial.OK {
		t.Errorf("%s %s", o.Status, o.Message)
	}
	if o := b.check(t, "far", device.Check{Launches: 5}); o.Status != trial.WrongResult || !strings.HasPrefix(o.Message, "launch 1 of 5: compare.cu gives 2") {
		t.Errorf("%s %s", o.Status, o.Message)
	}
}
