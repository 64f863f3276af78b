package operator

import "autotune/internal/lists"

// Type is the type of a tensor's elements, or of a scalar.
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

// TypeKind is how the bits of a type stand for a number.
type TypeKind int

const (
	Floating TypeKind = iota
	Signed
	Unsigned
)

// typeFacts is what is known of a type.
type typeFacts struct {
	name      Type
	bytes     int64
	kind      TypeKind
	cuda      string  // as CUDA C++ spells it
	header    string  // of CUDA that declares it; "": none is needed
	numpy     string  // the type of a NumPy array that holds its elements
	tolerance float64 // absolute and relative, unless the operator says otherwise
}

// types lists all, in the order of messages. A tolerance of a floating type is that
// of sums that are added up in another order than the reference's.
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

// facts are what is known of the type, nothing if there is none of that name.
func (t Type) facts() typeFacts {
	f, _ := lists.First(types, func(f typeFacts) bool { return f.name == t })
	return f
}

func (t Type) Bytes() int64 { return t.facts().bytes }

// Kind is how its bits stand for a number.
func (t Type) Kind() TypeKind { return t.facts().kind }

func (t Type) CUDA() string { return t.facts().cuda }

// Tolerance is how far from the reference's an element may be, in itself and
// relatively, unless the operator says otherwise.
func (t Type) Tolerance() float64 { return t.facts().tolerance }

// Header is the header of CUDA that declares it; "" if none is needed.
func (t Type) Header() string { return t.facts().header }

// NumPy is the type of the NumPy array that holds its elements: that of the same bits,
// or float32 for what NumPy does not have.
func (t Type) NumPy() string { return t.facts().numpy }

// InNumPy tells whether the elements have the same bytes there.
func (t Type) InNumPy() bool { return t.Bytes() > 2 || t == F16 || t.Kind() != Floating }
