package operator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// Type is the type of a tensor's elements or of a scalar.
type Type string

const (
	F64    Type = "f64"
	F32    Type = "f32"
	F16    Type = "f16"
	BF16   Type = "bf16"
	F8E4M3 Type = "f8e4m3"
	F8E5M2 Type = "f8e5m2"
	I64    Type = "i64"
	I32    Type = "i32"
	I16    Type = "i16"
	I8     Type = "i8"
	U64    Type = "u64"
	U32    Type = "u32"
	U16    Type = "u16"
	U8     Type = "u8"
	Bool   Type = "bool"
)

// TypeKind says how the bits of a type represent a number.
type TypeKind int

const (
	Floating TypeKind = iota
	Signed
	Unsigned
)

type typeFacts struct {
	name      Type
	bytes     int64
	kind      TypeKind
	cuda      string  // its name in CUDA C++
	header    string  // the CUDA header that declares it; "": none is needed
	numpy     string  // the type of a NumPy array for its elements
	tolerance float64 // absolute and relative default
}

// types lists all element types in the order of messages. The tolerance of a floating-point type allows for sums that
// are added in another order than the reference's.
var types = []typeFacts{
	{F64, 8, Floating, "double", "", "float64", 1e-10},
	{F32, 4, Floating, "float", "", "float32", 1e-4},
	{F16, 2, Floating, "__half", "cuda_fp16.h", "float16", 5e-3},
	{BF16, 2, Floating, "__nv_bfloat16", "cuda_bf16.h", "float32", 2e-2},
	{F8E4M3, 1, Floating, "__nv_fp8_e4m3", "cuda_fp8.h", "float32", 0.1},
	{F8E5M2, 1, Floating, "__nv_fp8_e5m2", "cuda_fp8.h", "float32", 0.2},
	{I64, 8, Signed, "long long", "", "int64", 0},
	{I32, 4, Signed, "int", "", "int32", 0},
	{I16, 2, Signed, "short", "", "int16", 0},
	{I8, 1, Signed, "signed char", "", "int8", 0},
	{U64, 8, Unsigned, "unsigned long long", "", "uint64", 0},
	{U32, 4, Unsigned, "unsigned int", "", "uint32", 0},
	{U16, 2, Unsigned, "unsigned short", "", "uint16", 0},
	{U8, 1, Unsigned, "unsigned char", "", "uint8", 0},
	{Bool, 1, Unsigned, "bool", "", "bool", 0},
}

func Types() []string {
	return lists.Of(types, func(t typeFacts) string { return string(t.name) })
}

// facts returns the properties of the type, such as its size and its name in C++, or zeros for an unknown type.
func (t Type) facts() typeFacts {
	f, _ := lists.First(types, func(f typeFacts) bool { return f.name == t })
	return f
}

func (t Type) Bytes() int64 { return t.facts().bytes }

// Kind says how the bits of the type represent a number.
func (t Type) Kind() TypeKind { return t.facts().kind }

func (t Type) CUDA() string { return t.facts().cuda }

// Tolerance returns the default absolute and relative tolerance of an element compared with the reference.
func (t Type) Tolerance() float64 { return t.facts().tolerance }

// Header returns the CUDA header that declares the type, or "" if C++ needs no header for it.
func (t Type) Header() string { return t.facts().header }

// NumPy returns the type of the NumPy array for elements of type t, or float32 if NumPy has no type of the same bits.
func (t Type) NumPy() string { return t.facts().numpy }

// InNumPy tells whether NumPy has a type that represents the elements by the same bits.
func (t Type) InNumPy() bool { return t.Bytes() > 2 || t == F16 || t.Kind() != Floating }

// The type of a tensor's elements is fixed in op.yaml, or a parameter chooses it. If a parameter chooses the type, one
// operator serves tensors of several types.

// TypeText describes the element type for messages: "bf16", or "f32, bf16 or f16, by type".
func (a ArgumentSpec) TypeText() string {
	if a.TypeBy == "" {
		return string(a.Type)
	}
	return fmt.Sprintf("%s, by %s", alternatives(a.Types), a.TypeBy)
}

// alternatives joins words for a sentence: "a, b or c".
func alternatives[T ~string](words []T) string {
	text := string(words[0])
	for i, word := range words[1:] {
		text += map[bool]string{true: " or ", false: ", "}[i == len(words)-2] + string(word)
	}
	return text
}

func (a ArgumentSpec) typeIn(values map[string]expr.Value) Type {
	return cmp.Or(a.Type, Type(values[a.TypeBy].String()))
}

// tolerance returns a formula for the default tolerance of a tensor's type.
func (a ArgumentSpec) tolerance() Formula {
	text := ""
	for i, t := range slices.Backward(a.Types) {
		number := strconv.FormatFloat(t.Tolerance(), 'g', -1, 64)
		if i == len(a.Types)-1 {
			text = number
			continue
		}
		text = fmt.Sprintf("%s if %s == '%s' else %s", number, a.TypeBy, t, text)
	}
	return constant(text)
}

// TypeParameter returns the parameter that chooses the type of tensors, or "".
func (o *Operator) TypeParameter() string {
	for _, a := range o.Arguments {
		if a.TypeBy != "" {
			return a.TypeBy
		}
	}
	return ""
}

// holds returns an error if a scalar of the type cannot represent the given value.
func (t Type) holds(v expr.Value) error {
	f := t.facts()
	if f.kind == Floating && f.bytes < 4 {
		return fmt.Errorf("a scalar of type %s cannot be passed; use f32", t)
	}
	if f.kind == Floating {
		x, ok := v.AsFloat()
		switch {
		case !ok:
			return fmt.Errorf("%s takes a number", t)
		case f.bytes == 4 && math.IsInf(float64(float32(x)), 0) && !math.IsInf(x, 0):
			return fmt.Errorf("%s holds numbers up to %.3g", t, math.MaxFloat32)
		}
		return nil
	}
	n, ok := v.AsInt()
	if !ok {
		return fmt.Errorf("%s takes an integer", t)
	}
	least, most := f.bounds()
	if n < least || n > most {
		return fmt.Errorf("%s holds %d to %d", t, least, most)
	}
	return nil
}

// bounds returns the least and the greatest integer of a type, limited to the integers that expressions can compute.
func (f typeFacts) bounds() (least, most int64) {
	switch {
	case f.name == Bool:
		return 0, 1
	case f.kind == Unsigned && f.bytes == 8:
		return 0, math.MaxInt64
	case f.kind == Unsigned:
		return 0, 1<<(8*f.bytes) - 1
	}
	return -1 << (8*f.bytes - 1), 1<<(8*f.bytes-1) - 1
}

// Bits returns the bytes of a scalar argument, the lowest first. In the result of Bits, unneeded bytes are zero.
func (a Argument) Bits() uint64 {
	f := a.Type.facts()
	if f.kind == Floating {
		x, _ := a.Value.AsFloat()
		if f.bytes == 4 {
			return uint64(math.Float32bits(float32(x)))
		}
		return math.Float64bits(x)
	}
	n, _ := a.Value.AsInt()
	if f.bytes == 8 {
		return uint64(n)
	}
	return uint64(n) & (1<<(8*f.bytes) - 1)
}
