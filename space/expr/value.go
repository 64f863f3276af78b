package expr

import (
	bits "encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

type Kind uint8

// A Value has one of the kinds from KindNone to KindString. The zero Value has KindNone, which stands for a name
// without a value; evaluating it is an error.
const (
	KindNone Kind = iota
	KindInt
	KindFloat
	KindBool
	KindString
)

var kindNames = [...]string{"nothing", "int", "float", "bool", "str"}

func (k Kind) String() string { return kindNames[k] }

// Value is a Python value: a 64-bit int, a float, a bool or a string. Values can be compared with ==, which
// distinguishes 1, 1.0 and True; Equal compares as Python does.
type Value struct {
	kind Kind
	bits uint64 // the int, the float's bits, or 0 and 1 for a bool
	text string
}

func Int(i int64) Value { return Value{kind: KindInt, bits: uint64(i)} }

func Float(f float64) Value { return Value{kind: KindFloat, bits: math.Float64bits(f)} }

func Bool(b bool) Value {
	if b {
		return Value{kind: KindBool, bits: 1}
	}
	return Value{kind: KindBool}
}

func String(s string) Value { return Value{kind: KindString, text: s} }

func (v Value) Kind() Kind           { return v.kind }
func (v Value) int() int64           { return int64(v.bits) }
func (v Value) float() float64       { return math.Float64frombits(v.bits) }
func (v Value) integral() bool       { return v.kind == KindInt || v.kind == KindBool }
func (v Value) AsInt() (int64, bool) { return v.int(), v.integral() }

func (v Value) AsFloat() (float64, bool) {
	switch v.kind {
	case KindInt, KindBool:
		return float64(v.int()), true
	case KindFloat:
		return v.float(), true
	}
	return 0, false
}

// Canonical returns the same Value for all values that are equal in Python, such as 1, 1.0 and True. Canonical values
// can therefore be compared with == and used as map keys. A float becomes an int exactly if some 64-bit int equals it.
func (v Value) Canonical() Value {
	if i, ok := v.AsInt(); ok {
		return Int(i)
	}
	// Both bounds of the int range are exact floats: -2^63 is the least int, and 2^63 is one more than the greatest.
	if f, ok := v.AsFloat(); ok && f == math.Trunc(f) && f >= math.MinInt64 && f < -math.MinInt64 {
		return Int(int64(f))
	}
	return v
}

// Truth tells whether Python treats v as true, which is any value except 0, 0.0, False and "".
func (v Value) Truth() bool {
	switch v.kind {
	case KindFloat:
		return v.float() != 0
	case KindString:
		return v.text != ""
	}
	return v.bits != 0
}

// String returns v as a user writes it: 12, 0.5, true, and strings without quotes.
func (v Value) String() string {
	switch v.kind {
	case KindInt:
		return strconv.FormatInt(v.int(), 10)
	case KindFloat:
		return formatFloat(v.float())
	case KindBool:
		return strconv.FormatBool(v.bits != 0)
	case KindString:
		return v.text
	}
	return "<none>"
}

// formatFloat always writes a point or an exponent, so that the text is read back as a float.
func formatFloat(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.ContainsAny(s, ".eIN") {
		return s
	}
	return s + ".0"
}

func (v Value) Source() string {
	switch {
	case v.kind == KindBool && v.bits != 0:
		return "True"
	case v.kind == KindBool:
		return "False"
	case v.kind == KindString:
		return quoted(v.text)
	case v.kind == KindFloat && math.IsInf(v.float(), 0):
		return strings.TrimPrefix(strconv.FormatFloat(v.float(), 'f', 0, 64)[:1]+"1e999", "+")
	}
	return v.String()
}

// parseNumber reads a number as Python or JSON writes it. parseNumber returns an int unless the text contains a decimal
// point or an exponent. For a float that is too large, parseNumber returns infinity and an error.
func parseNumber(s string) (v Value, err error) {
	based := len(s) > 1 && strings.IndexByte("xXbBoO", s[1]) >= 0
	switch {
	case !based && strings.ContainsAny(s, ".eE"):
		var f float64
		f, err = strconv.ParseFloat(s, 64)
		v = Float(f)
	case !based && s[0] == '0' && strings.Trim(s, "0_") != "":
		return v, fmt.Errorf("%s has a leading zero: write it without", s)
	default:
		var i int64
		i, err = strconv.ParseInt(s, 0, 64)
		v = Int(i)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		err = fmt.Errorf("%s is no %s of 64 bits", s, v.kind)
	case err != nil:
		err = fmt.Errorf("%s is malformed: digits are those of the base, and '_' stands only between digits", s)
	}
	return v, err
}

// MarshalJSON writes floats with a point or an exponent and ints without, so that UnmarshalJSON returns the same Value.
func (v Value) MarshalJSON() ([]byte, error) {
	if f := v.float(); v.kind == KindFloat && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, fmt.Errorf("JSON has no number for %v", f)
	}
	switch v.kind {
	case KindNone:
		return []byte("null"), nil
	case KindString:
		return json.Marshal(v.text)
	}
	return []byte(v.String()), nil
}

// UnmarshalJSON reads a number, a bool or a string; null becomes the zero Value.
func (v *Value) UnmarshalJSON(data []byte) (err error) {
	switch text := string(data); {
	case text == "null":
		*v = Value{}
	case text == "true", text == "false":
		*v = Bool(text == "true")
	case text[0] == '"':
		err = json.Unmarshal(data, &text)
		*v = String(text)
	case text[0] == '[', text[0] == '{':
		err = fmt.Errorf("%.40s is no number, bool or string", text)
	default:
		*v, err = parseNumber(text)
	}
	return err
}

// Equal compares as Python's == does: 1, 1.0 and True are equal.
func (v Value) Equal(w Value) bool {
	if v.kind == KindString || w.kind == KindString {
		return v.kind == w.kind && v.text == w.text
	}
	order, ok := compare(v, w)
	return ok && order == 0
}

// Compare orders two numbers or two strings as Python's < does. ok is false for NaN and for a number and a string.
func (v Value) Compare(w Value) (order int, ok bool) {
	order, comparable := compare(v, w)
	return order, comparable && order != unordered
}

// GobEncode writes the kind, eight bytes of bits and the text. Gob is used only between processes of one program.
func (v Value) GobEncode() ([]byte, error) {
	return append(bits.LittleEndian.AppendUint64([]byte{byte(v.kind)}, v.bits), v.text...), nil
}

// GobDecode reads the bytes that GobEncode wrote.
func (v *Value) GobDecode(data []byte) error {
	if len(data) < 9 || Kind(data[0]) > KindString {
		return errors.New("what should be a value is none")
	}
	*v = Value{Kind(data[0]), bits.LittleEndian.Uint64(data[1:]), string(data[9:])}
	return nil
}
