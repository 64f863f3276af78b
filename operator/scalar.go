package operator

import (
	"fmt"
	"math"

	"autotune/space/expr"
)

// holds says why a scalar of the type cannot have a value.
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

// bounds are the integers that a type holds, as far as expressions know them.
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

// Bits are a scalar's bytes as a kernel is passed them, the lowest first; those
// beyond its type's are zeros.
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
