package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"autotune/device/elements"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/operator"
)

// smallFormat defines a floating type of one or two bytes.
type smallFormat struct {
	kind               operator.Type
	exponent, mantissa int
	infinities         bool
}

var smallFormats = []smallFormat{
	{operator.F16, 5, 10, true}, {operator.BF16, 8, 7, true}, {operator.F8E4M3, 4, 3, false}, {operator.F8E5M2, 5, 2, true},
}

func (f smallFormat) codes() int { return 2 << (f.exponent + f.mantissa) }

func (f smallFormat) largest() int {
	if f.infinities {
		return (1<<f.exponent-1)<<f.mantissa - 1
	}
	return f.codes()/2 - 2
}

// value returns the number that a code represents; if the code stands for infinity or NaN, value returns the number
// that it would represent if it were finite.
func (f smallFormat) value(code int) float64 {
	sign := 1.0
	if code >= f.codes()/2 {
		sign, code = -1, code-f.codes()/2
	}
	e, m, bias := code>>f.mantissa, code&(1<<f.mantissa-1), 1<<(f.exponent-1)-1
	if e == 0 {
		return sign * math.Ldexp(float64(m), 1-bias-f.mantissa)
	}
	return sign * math.Ldexp(float64(m+1<<f.mantissa), e-bias-f.mantissa)
}

// nearest returns the code of the number nearest to x, with ties to even codes. x must be in the format's range.
func (f smallFormat) nearest(x *big.Float) int {
	if x.Signbit() {
		return f.codes()/2 + f.nearest(new(big.Float).Neg(x))
	}
	least, most := 0, f.largest()+1
	for least+1 < most {
		if middle := (least + most) / 2; x.Cmp(big.NewFloat(f.value(middle))) < 0 {
			most = middle
		} else {
			least = middle
		}
	}
	switch x.Cmp(big.NewFloat((f.value(least) + f.value(most)) / 2)) {
	case -1:
		return least
	case 0:
		return least + least%2
	}
	return most
}

// conversions maps a type to the two tested expressions: from a code c to a number, and from a float v to a code.
var conversions = map[string][2]string{
	"f16":           {"__half2float(__ushort_as_half(c))", "__half_as_ushort(__float2half_rn(v))"},
	"bf16":          {"__bfloat162float(__ushort_as_bfloat16(c))", "__bfloat16_as_ushort(__float2bfloat16_rn(v))"},
	"f8e4m3":        {"float(reinterpret_cast<const __nv_fp8_e4m3&>(c))", "__nv_fp8_e4m3(v).__x"},
	"f8e5m2":        {"float(reinterpret_cast<const __nv_fp8_e5m2&>(c))", "__nv_fp8_e5m2(v).__x"},
	"elements f16":  {"(float)element_small(c, F16)", "element_encode(v, F16)"},
	"elements bf16": {"(float)element_small(c, BF16)", "element_encode(v, BF16)"}, "elements f8e4m3": {"(float)element_small(c, F8E4M3)", "element_encode(v, F8E4M3)"},
	"elements f8e5m2": {"(float)element_small(c, F8E5M2)", "element_encode(v, F8E5M2)"},
}

func raw(t *testing.T, numbers any) []byte {
	t.Helper()
	contents, err := binary.Append(nil, binary.NativeEndian, numbers)
	must.OK(t, err)
	return contents
}

// numbers decodes a tensor's bytes, in the host's byte order, to numbers.
func numbers[T any](t *testing.T, contents []byte) []T {
	t.Helper()
	var one T
	all := make([]T, len(contents)/binary.Size(one))
	if _, err := binary.Decode(contents, binary.NativeEndian, all); err != nil {
		t.Fatal(err)
	}
	return all
}

// runConversions converts all codes to floats, and floats to codes.
func runConversions(t *testing.T, which string, codes []uint16, floats []float32) ([]float32, []uint16) {
	t.Helper()
	k := tinyKernel(t, fmt.Sprintf(`#include <cuda_fp8.h>
		#include "elements.h"
		extern "C" __global__ void k(const unsigned short* codes, const float* floats, float* values, unsigned short* coded, int n, int m) {
			for (int i = threadIdx.x; i < n; i += blockDim.x) { const unsigned short c = codes[i]; values[i] = %s; }
			for (int i = threadIdx.x; i < m; i += blockDim.x) { const float v = floats[i]; coded[i] = %s; }
		}`, conversions[which][0], conversions[which][1]))
	k.Includes["elements.h"] = "#pragma once\n#define ELEMENT static inline\n" + elements.Source
	tensors := []HostTensor{
		{Role: operator.Input, Type: operator.U16, Raw: raw(t, codes)}, HostTensorOf(operator.Argument{Role: operator.Input, Type: operator.F32}, floats),
		HostTensorOf(operator.Argument{Role: operator.Output, Type: operator.F32}, make([]float32, len(codes))), {Role: operator.Output, Type: operator.U16, Raw: make([]byte, 2*len(floats))},
		scalar(operator.I32, len(codes)), scalar(operator.I32, len(floats)),
	}
	must.OK(t, Run(t.Context(), mustCompile(t, k, false), threads(1, 64), tensors))
	return tensors[2].Floats(), numbers[uint16](t, tensors[3].Raw)
}

// Every code of the small types converts to the right number. Every number halfway between two codes, or just beside
// the middle, converts to the right code.
func TestSmallFloats(t *testing.T) {
	for _, f := range smallFormats {
		for _, prefix := range []string{"", "elements "} {
			t.Run(prefix+string(f.kind), func(t *testing.T) {
				t.Parallel()
				var codes, want []uint16
				var floats []float32
				for c := range f.codes() {
					codes = append(codes, uint16(c))
					magnitude := c % (f.codes() / 2)
					if magnitude > f.largest() {
						continue
					}
					middle := float32((f.value(c) + f.value(c+1)) / 2)
					far := float32(math.Copysign(math.Inf(1), float64(middle)))
					next := uint16(c + 1)
					// CUDA's conversions to one byte saturate; the conversions of elements.h return infinity if the
					// type has it.
					if magnitude == f.largest() && (!f.infinities || f.kind.Bytes() == 1 && prefix == "") {
						next = uint16(c)
					}
					even := next
					if c%2 == 0 {
						even = uint16(c)
					}
					floats = append(floats, float32(f.value(c)), math.Nextafter32(middle, 0), middle, math.Nextafter32(middle, far))
					want = append(want, uint16(c), uint16(c), even, next)
					if magnitude == f.largest() {
						floats, want = append(floats, far), append(want, next)
					}
				}
				values, coded := runConversions(t, prefix+string(f.kind), codes, floats)
				for c, got := range values {
					switch magnitude := c % (f.codes() / 2); {
					case magnitude <= f.largest():
						if float64(got) != f.value(c) || math.Signbit(float64(got)) != (c >= f.codes()/2) {
							t.Fatalf("code %#x is %v, not %v", c, got, f.value(c))
						}
					case f.infinities && magnitude == f.largest()+1:
						if !math.IsInf(float64(got), 0) || (got < 0) != (c >= f.codes()/2) {
							t.Fatalf("code %#x is %v, not an infinity", c, got)
						}
					case got == got:
						t.Fatalf("code %#x is %v, not NaN", c, got)
					}
				}
				for i, got := range coded {
					if got != want[i] {
						t.Fatalf("%v (%x) becomes the code %#x, not %#x", floats[i], floats[i], got, want[i])
					}
				}
			})
		}
	}
}

func scalar(kind operator.Type, value int) HostTensor {
	return HostTensor{Role: operator.Scalar, Type: kind, Value: integer(value)}
}

// Sums, products and fused multiply-adds of small floats are rounded only once.
func TestSmallFloatArithmetic(t *testing.T) {
	names := map[operator.Type][3]string{operator.F16: {"__half", "<cuda_fp16.h>"}, operator.BF16: {"__nv_bfloat16", "<cuda_bf16.h>"}}
	for _, f := range smallFormats[:2] {
		t.Run(string(f.kind), func(t *testing.T) {
			t.Parallel()
			n := 4000
			if endurance.Full() {
				n = 20000
			}
			k := tinyKernel(t, "#include "+names[f.kind][1]+`
				extern "C" __global__ void k(const T* a, const T* b, const T* c, T* sum, T* difference, T* product, T* quotient, T* fused) {
					for (int i = threadIdx.x; i < `+fmt.Sprint(n)+`; i += blockDim.x) {
						sum[i] = a[i] + b[i]; difference[i] = __hsub(a[i], b[i]); product[i] = __hmul(a[i], b[i]); quotient[i] = a[i] / b[i];
						fused[i] = __hfma(a[i], b[i], c[i]);
					}
				}`)
			k.Macros = append(k.Macros, operator.Macro{Name: "T", Value: names[f.kind][0]})
			var tensors []HostTensor
			var operands [3][]uint16
			draws := rand.New(rand.NewPCG(1, 2))
			one := (1<<(f.exponent-1) - 1) << f.mantissa
			for i := range n {
				sign := func() int { return draws.IntN(2) * f.codes() / 2 }
				near := func() int { return f.codes()/8 + draws.IntN(6<<f.mantissa) - 3<<f.mantissa + sign() }
				a, b, c := near(), near(), near()
				switch i % 4 {
				case 0:
					c = draws.IntN(f.largest()) + sign()
				case 1: // the product of 1.5 and this lies halfway between two numbers, and little breaks the tie
					a, b, c = one+1<<(f.mantissa-1), one+1+draws.IntN(1<<(f.mantissa-1))&^1, draws.IntN(1<<f.mantissa)+sign()
				}
				for o, code := range []int{a, b, c} {
					operands[o] = append(operands[o], uint16(code))
				}
			}
			for o := range operands {
				tensors = append(tensors, HostTensor{Role: operator.Input, Type: f.kind, Raw: raw(t, operands[o])})
			}
			for range 5 {
				tensors = append(tensors, HostTensor{Role: operator.Output, Type: f.kind, Raw: make([]byte, 2*n)})
			}
			must.OK(t, Run(t.Context(), mustCompile(t, k, false), threads(1, 64), tensors))
			exact := func(code uint16) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(f.value(int(code))) }
			number := func() *big.Float { return new(big.Float).SetPrec(600) }
			for r, name := range []string{"sum", "difference", "product", "quotient", "fused"} {
				for i, got := range numbers[uint16](t, tensors[3+r].Raw) {
					a, b, c := exact(operands[0][i]), exact(operands[1][i]), exact(operands[2][i])
					want := map[string]*big.Float{
						"sum": number().Add(a, b), "difference": number().Sub(a, b), "product": number().Mul(a, b),
						"quotient": number().Quo(a, b), "fused": number().Add(number().Mul(a, b), c),
					}[name]
					if code := f.nearest(want); int(got) != code {
						t.Fatalf("the %s of %v, %v (and %v) is %v, not %v", name, a, b, c, f.value(int(got)), f.value(code))
					}
				}
			}
		})
	}
}
