package gpu

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"testing"

	"autotune/device/compile"
	"autotune/device/elements"
	"autotune/device/emulator"
	"autotune/internal/test/must"
	"autotune/operator"
)

// typedEntry wraps the kernels of typed.cu, and the functions that they use, in one entry whose parameters are
// pointers to f32, as the emulator requires. typedEntry first zeroes the words that the called kernel adds to.
const typedEntry = `
struct Task {
    u64 what, words, count, type, seed, distribution;
    double a, b;
};
extern "C" __global__ void helpers_typed(const float* task, const float* x, const float* y, float* found) {
    const Task t = *reinterpret_cast<const Task*>(task);
    u64* words = reinterpret_cast<u64*>(found);
    for (u64 i = threadIdx.x; i < t.words; i += blockDim.x) words[i] = 0;
    __syncthreads();
    switch (t.what) {
    case 0: fill_typed(found, t.count, (int)t.type, (u32)t.seed, (int)t.distribution, t.a, t.b); break;
    case 1: checksum_typed(x, t.count, words); break;
    case 2: compare_typed(x, y, t.count, (int)t.type, t.a, t.b, reinterpret_cast<Outcome*>(found)); break;
    case 3:
        for (u64 i = threadIdx.x; i < t.count; i += blockDim.x)
            element_store(found, i, (int)t.type, reinterpret_cast<const double*>(x)[i]);
        break;
    case 4:
        if (threadIdx.x == 0) words[0] = element_poison((int)t.type), words[1] = element_bytes((int)t.type);
    }
}
`

// The following numbers select the function that the kernel entry of this test calls.
const (
	doFill = iota
	doChecksum
	doCompare
	doStore
	doTell
)

// task is the Go form of struct Task in typedEntry.
type task struct {
	What, Words, Count, Type, Seed, Distribution uint64
	A, B                                         float64
}

// typedRunner runs a task on two tensors and returns the bytes that it wrote.
type typedRunner func(t *testing.T, do task, x, y []byte) []byte

func TestTyped(t *testing.T) {
	run := compileTyped(t)
	for name, test := range map[string]func(*testing.T, typedRunner){
		"poison": typedPoison, "integers": typedIntegers, "fill": typedFill,
		"permutation": typedPermutation, "checksum": typedChecksum, "compare": typedCompare, "edges": typedCompareEdges,
	} {
		t.Run(name, func(t *testing.T) { test(t, run) })
	}
}

func compileTyped(t *testing.T) typedRunner {
	t.Helper()
	d := openEmulator(t)
	k := Kernels([]operator.Argument{{Type: operator.F64}})[1]
	k.Launches, k.Source = operator.Launches{{Entry: "helpers_typed"}}, k.Source+typedEntry
	b, err := d.Compiler().Compile(t.Context(), compile.Request{Kernel: k, Arch: d.Arch()})
	must.OK(t, err)
	return func(t *testing.T, do task, x, y []byte) []byte {
		t.Helper()
		head, err := binary.Append(nil, binary.LittleEndian, do)
		must.OK(t, err)
		tensors := []emulator.HostTensor{
			emulator.HostTensorOf(operator.Argument{Role: operator.Input, Type: operator.F32}, floatsOf(head)), emulator.HostTensorOf(operator.Argument{Role: operator.Input, Type: operator.F32}, floatsOf(x)),
			emulator.HostTensorOf(operator.Argument{Role: operator.Input, Type: operator.F32}, floatsOf(y)), emulator.HostTensorOf(operator.Argument{Role: operator.Output, Type: operator.F32}, make([]float32, 2*do.Words)),
		}
		err = emulator.Run(t.Context(), b, operator.Launch{Grid: [3]int64{1, 1, 1}, Block: [3]int64{64, 1, 1}}, tensors)
		if err != nil {
			t.Fatalf("%+v: %v", do, err)
		}
		return tensors[3].Raw
	}
}

func floatsOf(data []byte) []float32 {
	data = slices.Concat(data, make([]byte, 4))
	all := make([]float32, len(data)/4)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return all
}

func element(data []byte, at operator.Type, i int) uint64 {
	return elements.Bits(at, data, int64(i))
}

func packed(at operator.Type, all ...uint64) (data []byte) {
	for _, bits := range all {
		data = append(data, binary.LittleEndian.AppendUint64(nil, bits)[:at.Bytes()]...)
	}
	return data
}

func packedDoubles(all []float64) (data []byte) {
	for _, x := range all {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
	}
	return data
}

func allTypes() (all []operator.Type) {
	for _, name := range operator.Types() {
		all = append(all, operator.Type(name))
	}
	return all
}

func number(at operator.Type) uint64 { return uint64(elements.TypeNumber(at)) }

// Go and C++ agree on the size and the poison of every type.
func typedPoison(t *testing.T, run typedRunner) {
	for _, at := range allTypes() {
		got := run(t, task{What: doTell, Words: 2, Type: number(at)}, nil, nil)
		if poison, size := element(got, operator.U64, 0), element(got, operator.U64, 1); poison != elements.Poison(at) || size != uint64(at.Bytes()) {
			t.Errorf("%s: %d bytes, poison %#x; in Go %d, %#x", at, size, poison, at.Bytes(), elements.Poison(at))
		}
	}
	for _, at := range []operator.Type{operator.F64, operator.I64, operator.U64} {
		if p := elements.Poison(at); p>>32 != p&0xffffffff {
			t.Errorf("%s: the words of %#x differ", at, p)
		}
	}
}

// The codes of a few numbers are known from the types' definitions.
func TestKnownCodes(t *testing.T) {
	for _, known := range []struct {
		at   operator.Type
		bits uint64
		text string
	}{
		{operator.F16, 0x3c00, "1"}, {operator.F16, 0x7bff, "65504"}, {operator.F16, 0x0001, "5.9604645e-08"}, {operator.F16, 0xfc00, "-Inf"},
		{operator.BF16, 0xc049, "-3.140625"}, {operator.BF16, 0x7f81, "NaN"},
		{operator.F8E4M3, 0x7e, "448"}, {operator.F8E4M3, 0x78, "256"}, {operator.F8E4M3, 0x01, "0.001953125"}, {operator.F8E4M3, 0xff, "NaN"},
		{operator.F8E5M2, 0x7b, "57344"}, {operator.F8E5M2, 0x01, "1.5258789e-05"}, {operator.F8E5M2, 0x7c, "+Inf"}, {operator.F8E5M2, 0xfd, "NaN"},
		{operator.I8, 0xff, "-1"}, {operator.U8, 0xff, "255"}, {operator.I16, 0x8000, "-32768"}, {operator.I64, 1 << 63, "-9223372036854775808"},
		{operator.U64, 1 << 63, "9223372036854775808"}, {operator.Bool, 1, "true"}, {operator.Bool, 0xad, "173"},
		{operator.F64, math.Float64bits(0.1), "0.1"}, {operator.F32, uint64(math.Float32bits(0.1)), "0.1"},
	} {
		if got := elements.Text(known.at, known.bits); got != known.text {
			t.Errorf("%s %#x is %s, want %s", known.at, known.bits, got, known.text)
		}
	}
}

// A number beyond an integer type's range becomes the type's nearest integer, and fractions are rounded toward zero.
func typedIntegers(t *testing.T, run typedRunner) {
	numbers := []float64{0, 0.9, -0.9, 1, -1, 127, 128, -129, 300, 70000, -70000, 5e9, -5e9, 1e19, -1e19, 1e30, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, at := range allTypes() {
		if at.Kind() == operator.Floating {
			continue
		}
		written := run(t, task{What: doStore, Words: uint64(len(numbers)), Count: uint64(len(numbers)), Type: number(at)}, packedDoubles(numbers), nil)
		for i, x := range numbers {
			if got, want := element(written, at, i), integer(at, x); got != want {
				t.Errorf("%s: %v is written as %#x, want %#x", at, x, got, want)
			}
		}
	}
}

func integer(at operator.Type, x float64) uint64 {
	size := 8 * at.Bytes()
	mask := ^uint64(0) >> (64 - size)
	signed := at.Kind() == operator.Signed
	switch {
	case at == operator.Bool:
		if x != 0 {
			return 1
		}
		return 0
	case math.IsNaN(x), !signed && x <= 0:
		return 0
	case signed && x >= math.Ldexp(1, int(size)-1):
		return mask >> 1
	case signed && x < -math.Ldexp(1, int(size)-1):
		return mask>>1 + 1
	case signed:
		return uint64(int64(x)) & mask
	case x >= math.Ldexp(1, int(size)):
		return mask
	}
	return uint64(x)
}

func hashed(i uint64, seed uint32) uint32 {
	x := i*0x9e3779b97f4a7c15 + uint64(seed)*0xd1b54a32d192ed03
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return uint32((x ^ x>>31) >> 32)
}

func uniformly(i uint64, seed uint32) float64 { return float64(hashed(i, seed)>>8) * 0x1p-24 }

// fillOf returns the task that fills a tensor from the given distribution.
func fillOf(t *testing.T, at operator.Type, seed uint32, distribution string, numbers ...float64) task {
	t.Helper()
	f, err := elements.FillOf(operator.Argument{
		Role: operator.Input, Type: at, Fill: &operator.Fill{Distribution: distribution, Numbers: numbers},
	}, "uniform01", seed)
	must.OK(t, err)
	return task{What: doFill, Type: number(at), Seed: uint64(f.Seed), Distribution: uint64(f.Distribution), A: f.A, B: f.B}
}

// Tensors of every type are filled with the values that a plain Go version computes.
func typedFill(t *testing.T, run typedRunner) {
	const count, seed = 1003, 42
	filled := func(at operator.Type, distribution string, numbers ...float64) []byte {
		do := fillOf(t, at, seed, distribution, numbers...)
		do.Count, do.Words = count, count
		return run(t, do, nil, nil)
	}
	for _, at := range allTypes() {
		for _, d := range []struct {
			name    string
			numbers []float64
			want    func(i uint64) float64
		}{
			{"uniform", []float64{-3, 5}, func(i uint64) float64 { return -3 + 8*uniformly(i, seed) }},
			{"integers", []float64{-2, 3}, func(i uint64) float64 {
				return min(3, -2+math.Floor(6*((float64(hashed(i, seed))+0.5)*0x1p-32)))
			}},
			{"constant", []float64{0.1}, func(uint64) float64 { return 0.1 }},
			{"range", []float64{-20, 0.25}, func(i uint64) float64 { return -20 + 0.25*float64(i) }},
			{"sorted", []float64{-1, 200}, func(i uint64) float64 { return -1 + 201*((float64(i)+uniformly(i, seed))/count) }},
		} {
			got := filled(at, d.name, d.numbers...)
			for i := range count {
				if got, want := element(got, at, i), stored(at, d.want(uint64(i))); got != want {
					t.Fatalf("%s %s: element %d is %s, want %s", at, d.name, i, elements.Text(at, got), elements.Text(at, want))
				}
			}
		}
	}
	normal := filled(operator.F64, "normal", 100, 5)
	sum, squares := 0.0, 0.0
	for i := range count {
		x := math.Float64frombits(element(normal, operator.F64, i))
		sum, squares = sum+x, squares+(x-100)*(x-100)
	}
	if mean, deviation := sum/count, math.Sqrt(squares/count); math.Abs(mean-100) > 0.6 || math.Abs(deviation-5) > 0.5 {
		t.Errorf("normal(100, 5) has the mean %g and the deviation %g", mean, deviation)
	}
}

// stored returns the bits of a number after conversion to a type.
func stored(at operator.Type, x float64) uint64 {
	switch {
	case at == operator.F64:
		return math.Float64bits(x)
	case at == operator.F32:
		return uint64(math.Float32bits(float32(x)))
	case at.Kind() != operator.Floating:
		return integer(at, x)
	}
	return uint64(elements.Round(at, float32(x)))
}

// A permutation contains each number exactly once, for every count and seed.
func typedPermutation(t *testing.T, run typedRunner) {
	for _, count := range []uint64{1, 2, 3, 4, 5, 16, 17, 1000, 4097} {
		for seed := range uint32(3) {
			do := fillOf(t, operator.U16, seed, "permutation")
			do.Count, do.Words = count, count
			got, seen := run(t, do, nil, nil), make([]bool, count)
			still := 0
			for i := range int(count) {
				v := element(got, operator.U16, i)
				if v >= count || seen[v] {
					t.Fatalf("%d elements, seed %d: element %d is %d", count, seed, i, v)
				}
				seen[v] = true
				if v == uint64(i) {
					still++
				}
			}
			if count >= 1000 && still > 20 {
				t.Errorf("%d elements, seed %d: %d are where they were", count, seed, still)
			}
		}
	}
}

// Changing any byte changes the checksum, even in the last, incomplete step of 16 bytes.
func typedChecksum(t *testing.T, run typedRunner) {
	sum := func(data []byte, count int) uint64 {
		return element(run(t, task{What: doChecksum, Words: 1, Count: uint64(count)}, data, nil), operator.U64, 0)
	}
	data := make([]byte, 53)
	for i := range data {
		data[i] = byte(7*i + 1)
	}
	for _, count := range []int{1, 16, 39} {
		whole := sum(data, count)
		for at := range count + 2 {
			changed := slices.Clone(data)
			changed[at] ^= 0x10
			if differs := sum(changed, count) != whole; differs != (at < count) {
				t.Errorf("of %d bytes: the sum differs %v when byte %d is another", count, differs, at)
			}
		}
	}
}

// compare_typed counts the elements that differ by more than the tolerance, in tensors of every type.
func typedCompare(t *testing.T, run typedRunner) {
	const count, at777 = 1001, 777
	for _, at := range allTypes() {
		ref := make([]uint64, count)
		for i := range ref {
			ref[i] = stored(at, float64(i%50))
		}
		compare := func(bits uint64, atol, rtol float64) []uint64 {
			out := slices.Clone(ref)
			out[at777] = bits
			return found(run(t, task{What: doCompare, Words: 7, Count: count, Type: number(at), A: atol, B: rtol}, packed(at, out...), packed(at, ref...)))
		}
		right := compare(ref[at777], 0, 0)
		if right[0] != 0 || right[5] == 0 || right[5] != right[6] {
			t.Errorf("%s: a tensor compared with itself gives %v", at, right)
		}
		// The element that the test changes holds a number of about 27, or true in a bool tensor.
		if wrong := compare(stored(at, 0), 0, 0); wrong[0] != 1 || ^wrong[1] != at777 || wrong[2] != 0 || wrong[3] != 0 || wrong[6] == right[6] {
			t.Errorf("%s: a zero gives %v", at, wrong)
		}
		distance := 1.0
		if at != operator.Bool {
			var err error
			if distance, err = strconv.ParseFloat(elements.Text(at, ref[at777]), 64); err != nil {
				t.Fatal(err)
			}
		}
		if near := compare(stored(at, 0), distance, 0); near[0] != 0 || math.Float64frombits(near[4]) != distance {
			t.Errorf("%s: a zero that is allowed gives %v", at, near)
		}
		if near := compare(stored(at, 0), 0, 0.99); near[0] != 1 {
			t.Errorf("%s: a zero where 0.99 are allowed gives %v", at, near)
		}
		if unwritten := compare(elements.Poison(at), 0, 0); unwritten[0] != 1 || unwritten[2] != 1 || (unwritten[3] == 1) != (at.Kind() == operator.Floating) {
			t.Errorf("%s: the poison gives %v", at, unwritten)
		}
		if at.Kind() == operator.Floating {
			if nan := compare(stored(at, math.NaN()), 1e6, 1e6); nan[0] != 1 || nan[2] != 0 || nan[3] != 1 {
				t.Errorf("%s: a NaN gives %v", at, nan)
			}
		}
	}
}

// A NaN equals any NaN except the poison, an infinity equals itself, and integers are compared as integers.
func typedCompareEdges(t *testing.T, run typedRunner) {
	for _, edge := range []struct {
		at       operator.Type
		out, ref uint64
		atol     float64
		right    bool
		error    float64
	}{
		{operator.F16, 0x7fff, 0xfe00, 0, true, 0},
		{operator.F16, 0x7fad, 0x7fad, 0, false, 0},
		{operator.F8E4M3, 0x7f, 0x7f, 0, true, 0},
		{operator.F8E4M3, 0xff, 0xff, 0, false, 0},
		{operator.F8E5M2, 0x7f, 0x7e, 0, true, 0},
		{operator.BF16, 0x7f80, 0x7f80, 0, true, 0},
		{operator.BF16, 0x7f80, 0xff80, 1e300, false, 0},
		{operator.F64, math.Float64bits(math.Inf(1)), math.Float64bits(1), math.MaxFloat64, false, 0},
		{operator.F64, math.Float64bits(1e300), math.Float64bits(-1e300), 2e300, true, 2e300},
		{operator.F16, 0x8000, 0, 0, true, 0}, // minus zero
		{operator.U64, ^uint64(0), 0, 0, false, 0x1p64},
		{operator.U64, 1 << 63, 1<<63 + 1, 0, false, 1},
		{operator.I64, 1 << 63, ^uint64(0) >> 1, 0, false, 0x1p64},
		{operator.I64, 1<<53 + 1, 1 << 53, 0, false, 1},
		{operator.I8, 0x80, 0x7f, 255, true, 255},
		{operator.U8, 0x6b, 0x6b, 0, true, 0}, // the poison, and right
		{operator.Bool, 1, 0, 0, false, 1},
	} {
		got := found(run(t, task{What: doCompare, Words: 7, Count: 1, Type: number(edge.at), A: edge.atol}, packed(edge.at, edge.out), packed(edge.at, edge.ref)))
		if right := got[0] == 0; right != edge.right || math.Float64frombits(got[4]) != edge.error {
			t.Errorf("%s: %#x for %#x is right: %v, error %g; want %v, %g", edge.at, edge.out, edge.ref, right, math.Float64frombits(got[4]), edge.right, edge.error)
		}
	}
}

func found(written []byte) []uint64 {
	words := make([]uint64, len(written)/8)
	for i := range words {
		words[i] = element(written, operator.U64, i)
	}
	return words
}
