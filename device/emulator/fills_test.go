package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
)

// copying returns a problem whose reference copies its inputs to its outputs. Each text in fills is an input's type and
// fill.
func copying(t *testing.T, n int64, fills []string) *operator.Problem {
	t.Helper()
	var inputs, outputs, parameters, body strings.Builder
	for i, text := range fills {
		kind, fill, _ := strings.Cut(text, " ")
		if fill != "" {
			fill = fmt.Sprintf(", fill: %q", fill)
		}
		fmt.Fprintf(&inputs, "  - {name: x%d, role: input, type: %s, shape: [n]%s}\n", i, kind, fill)
		fmt.Fprintf(&outputs, "  - {name: y%d, role: output, type: %s, shape: [n]}\n", i, kind)
		cuda := operator.Type(kind).CUDA()
		fmt.Fprintf(&body, "y%d[i] = x%d[i];\n", i, i)
		fmt.Fprintf(&parameters, "const %s* x%d, ", cuda, i)
	}
	for i, text := range fills {
		kind, _, _ := strings.Cut(text, " ")
		fmt.Fprintf(&parameters, "%s* y%d, ", operator.Type(kind).CUDA(), i)
	}
	kernel := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("#include <cuda_fp8.h>\nextern \"C\" __global__ void copying_" + name + "(" + parameters.String() + "int n) {\n" +
			"const int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= n) return;\n" + body.String() + "}\n")}
	}
	yaml := "operator: copying\nsummary: Copies.\nshape: [n]\ntensors:\n" + inputs.String() + outputs.String() +
		"  - {name: size, type: i32, value: n}\ncost: [n]\nreference: reference.cu\ntemplates:\n" + simpleTemplate("same")
	return loaded(t, fstest.MapFS{"op.yaml": {Data: []byte(yaml)}, "reference.cu": kernel("reference"), "same.cu": kernel("same")}, n)
}

// hashed returns the random generator's number for an element, computed from the generator's definition.
func hashed(i uint64, seed uint32) uint32 {
	x := i*0x9e3779b97f4a7c15 + uint64(seed)*0xd1b54a32d192ed03
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return uint32((x ^ x>>31) >> 32)
}

func TestFills(t *testing.T) {
	const n, seed = 1000, 5
	fills := []string{"f32", "f64 normal(10, 2)", "i64 range(5, -3)", "i32 permutation", "bool", "i8", "u16", "i8 constant(-1e30)", "bf16", "f8e5m2"}
	proto := device.DefaultProtocol()
	proto.Seed = seed
	b := openBench(t, Options{CacheDir: testCache}, copying(t, n, fills), proto)
	if e := b.evaluate(t, "same"); e.Status != "ok" {
		t.Errorf("%s: %s", e.Status, e.Message)
	}
	read := func(i int) []byte {
		contents := must.Read(t, filepath.Join(b.session.(*session).dir, fmt.Sprintf("y%d.reference", i)))
		return contents
	}
	uniform := numbers[float32](t, read(0))
	for i, x := range uniform {
		if want := float32(hashed(uint64(i), seed)>>8) / (1 << 24); x != want {
			t.Fatalf("element %d is %v, not %v", i, x, want)
		}
	}
	sum, squares := 0.0, 0.0
	for _, x := range numbers[float64](t, read(1)) {
		sum, squares = sum+x/n, squares+(x-10)*(x-10)/n
	}
	if math.Abs(sum-10) > 0.3 || math.Abs(math.Sqrt(squares)-2) > 0.2 {
		t.Errorf("%s has the mean %v and the deviation %v", fills[1], sum, math.Sqrt(squares))
	}
	for i, x := range numbers[int64](t, read(2)) {
		if x != 5-3*int64(i) {
			t.Errorf("%s: element %d is %d", fills[2], i, x)
		}
	}
	permuted := numbers[int32](t, read(3))
	if slices.IsSorted(permuted) {
		t.Errorf("%s: nothing is permuted", fills[3])
	}
	bounds(t, fills[3], permuted, 0, n-1, n)
	bounds(t, fills[4], read(4), 0, 1, 2)
	bounds(t, fills[5], numbers[int8](t, read(5)), -100, 100, 190)
	bounds(t, fills[6], numbers[uint16](t, read(6)), 0, 100, 95)
	bounds(t, fills[7], numbers[int8](t, read(7)), -128, -128, 1)
	var small []float64
	for _, code := range numbers[uint16](t, read(8)) {
		small = append(small, smallFormats[1].value(int(code)))
	}
	bounds(t, fills[8], small, 0, 1, 100)
	small = nil
	for _, code := range read(9) {
		small = append(small, smallFormats[3].value(int(code)))
	}
	bounds(t, fills[9], small, 0, 1, 20)
}

// bounds checks that all numbers lie within a range, and that at least a given count of them are different.
func bounds[T int8 | uint8 | int16 | uint16 | int32 | uint64 | float32 | float64](t *testing.T, fill string, all []T, least, most T, different int) {
	t.Helper()
	found := map[T]bool{}
	for _, x := range all {
		found[x] = true
	}
	if slices.Min(all) < least || slices.Max(all) > most || len(found) < different {
		t.Errorf("%s: %v to %v, %d different ones; want %v to %v, at least %d", fill, slices.Min(all), slices.Max(all), len(found), least, most, different)
	}
}

// ownYAML describes an operator whose own kernels fill the tensors `k` and `total`, and compare outputs.
const ownYAML = `operator: own
summary: For tests.
shape: [n]
tensors:
  - {name: k, role: input, type: i32, shape: [n], fill: fill.cu}
  - {name: v, role: input, type: f32, shape: [n], fill: "integers(0, 49)"}
  - {name: half, role: input, type: bf16, shape: [n], fill: "integers(0, 49)"}
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
	files := fstest.MapFS{
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

// An operator's own kernels fill and compare tensors. Right variants pass at every launch and on all inputs.
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
		contents := must.Read(t, filepath.Join(b.session.(*session).dir, file))
		return contents
	}
	if k := int32(binary.LittleEndian.Uint32(read("k.input"))); k != 1 { // the seed is the protocol's and k the first argument
		t.Errorf("k begins with %d", k)
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
