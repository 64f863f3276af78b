package gpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/operator"
)

// wrapped adds entries to the device's own kernels whose parameters are all pointers, as the emulator requires. Each
// added entry first zeroes the words to which its kernel adds results.
const wrapped = `
__device__ void zero(float* words) {
    for (int i = threadIdx.x; i < WORDS; i += blockDim.x) words[i] = 0.0f;
    __syncthreads();
}
extern "C" __global__ void helpers_compare(const float* out, const float* ref, float* found) {
    zero(found);
    compare(out, ref, ELEMENTS, 1e-4f, 1e-4f, reinterpret_cast<Outcome*>(found));
}
extern "C" __global__ void helpers_fill_guards(const float* words, float* zone) {
    for (int i = threadIdx.x; i < ELEMENTS; i += blockDim.x) zone[i] = words[i];
    __syncthreads();
    Zone zones[2] = {{reinterpret_cast<u32*>(zone), ELEMENTS, SPARED}};
    guard_fill(zones, 0x7149f2cau);
}
extern "C" __global__ void helpers_guards(const float* words, float* found) {
    zero(found);
    Zone zones[2] = {{const_cast<u32*>(reinterpret_cast<const u32*>(words)), ELEMENTS, SPARED}};
    guard_check(zones, 0x7149f2cau, reinterpret_cast<u64*>(found));
}
`

// openEmulator opens the emulator, on which the device's own kernels are tested, or skips the test.
func openEmulator(t *testing.T) device.Device {
	t.Helper()
	d, err := emulator.Open(emulator.Options{CacheDir: testcache.Dir()})
	testneeds.CXX.Opened(t, err, emulator.ErrNoCompiler)
	t.Cleanup(func() { d.Close() })
	return d
}

// helper compiles one of the device's own kernels for inputs with count elements, and for guard zones whose first
// `spared` bytes are left out. The function that helper returns runs the kernel on one block and returns the words that
// the kernel added to.
func helper(t *testing.T, entry string, words, count, spared int) func(inputs ...[]float32) []uint64 {
	t.Helper()
	d := openEmulator(t)
	k := Kernels(nil)[0]
	k.Launches, k.Source = operator.Launches{{Entry: entry}}, k.Source+wrapped
	k.Macros = []operator.Macro{{Name: "ELEMENTS", Value: fmt.Sprint(count)}, {Name: "WORDS", Value: fmt.Sprint(2 * words)}, {Name: "SPARED", Value: fmt.Sprint(spared)}}
	b, err := d.Compiler().Compile(t.Context(), compile.Request{Kernel: k, Arch: d.Arch()})
	must.OK(t, err)
	return func(inputs ...[]float32) []uint64 { return runHelper(t, b, words, inputs) }
}

func runHelper(t *testing.T, b *compile.Binary, words int, inputs [][]float32) []uint64 {
	t.Helper()
	found := make([]float32, 2*words)
	tensors := []emulator.HostTensor{}
	for _, in := range inputs {
		tensors = append(tensors, emulator.HostTensorOf(operator.Argument{Role: operator.Input, Type: operator.F32}, in))
	}
	tensors = append(tensors, emulator.HostTensorOf(operator.Argument{Role: operator.Output, Type: operator.F32}, found))
	must.OK(t, emulator.Run(t.Context(), b, operator.Launch{Grid: [3]int64{1, 1, 1}, Block: [3]int64{64, 1, 1}}, tensors))
	found = tensors[len(tensors)-1].Floats()
	joined := make([]uint64, words)
	for i := range joined {
		joined[i] = uint64(math.Float32bits(found[2*i])) | uint64(math.Float32bits(found[2*i+1]))<<32
	}
	return joined
}

// compare counts the elements that differ, and computes a checksum of each side. Equal contents have equal checksums,
// and changing any bit changes the checksum.
func TestCompareHelper(t *testing.T) {
	ref := make([]float32, 1003)
	for i := range ref {
		ref[i] = float32(i) / 7
	}
	compare := helper(t, "helpers_compare", 7, len(ref), 0)
	right := compare(ref, ref)
	if right[0] != 0 || right[5] == 0 || right[5] != right[6] {
		t.Errorf("an output compared with itself gives %v", right)
	}
	for _, at := range []int{0, 500, 1002} {
		out := slices.Clone(ref)
		out[at] = math.Nextafter32(out[at], 1e9)
		if near := compare(out, ref); near[0] != 0 || near[5] != right[5] || near[6] == right[6] {
			t.Errorf("element %d, a bit larger: %v; want no mismatch, the reference's sum %d and another one for the output", at, near, right[5])
		}
		out[at] = float32(math.NaN())
		wrong := compare(out, ref)
		if wrong[0] != 1 || ^wrong[1] != uint64(at) || wrong[3] != 1 {
			t.Errorf("a NaN at %d gives %v", at, wrong)
		}
	}
}

// guard_check counts every word of a guard zone that differs from the guard word.
func TestGuardHelper(t *testing.T) {
	zone := slices.Repeat([]float32{math.Float32frombits(0x7149f2ca)}, 500)
	check := helper(t, "helpers_guards", 2, len(zone), 0)
	if hits := check(zone); hits[0] != 0 || hits[1] != 0 {
		t.Errorf("an untouched zone has %v hits", hits)
	}
	zone[3], zone[499] = 0, 1
	if hits := check(zone); hits[0] != 2 || hits[1] != 2 {
		t.Errorf("a zone with two words changed has %v hits", hits)
	}
}

// A guard zone that begins within a word is filled and checked from exactly its first byte on.
func TestGuardHelperIsPreciseToAByte(t *testing.T) {
	const guard, spared = 0x7149f2ca, 3
	zone := slices.Repeat([]float32{math.Float32frombits(guard)}, 64)
	check := helper(t, "helpers_guards", 2, len(zone), spared)
	for first, want := range map[uint32]uint64{guard: 0, guard ^ 0x00ffffff: 0, guard ^ 0x01000000: 1} {
		zone[0] = math.Float32frombits(first)
		if hits := check(zone); hits[0] != want || hits[1] != want {
			t.Errorf("a zone that begins with %#x has %v hits, want %d", first, hits, want)
		}
	}
	fill := helper(t, "helpers_fill_guards", len(zone)/2, len(zone), spared)
	words := fill(slices.Repeat([]float32{math.Float32frombits(0x11223344)}, len(zone)))
	if want := uint64(guard)<<32 | 0x71223344; words[0] != want || slices.ContainsFunc(words[1:], func(w uint64) bool { return w != guard<<32|guard }) {
		t.Errorf("the filled zone is %#x; want %#x and then the guard alone", words, want)
	}
}
