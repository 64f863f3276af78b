package expr

import "math"

// Canonical gives values that Python takes as equal, such as 1, 1.0 and True,
// the same Value, so that they can be compared with == and serve as map keys. A
// float becomes an int exactly when an int of 64 bits equals it.
func (v Value) Canonical() Value {
	if i, ok := v.AsInt(); ok {
		return Int(i)
	}
	// Both bounds are floats: -2^63 is the least int, 2^63 is one beyond the greatest.
	if f, ok := v.AsFloat(); ok && f == math.Trunc(f) && f >= math.MinInt64 && f < -math.MinInt64 {
		return Int(int64(f))
	}
	return v
}
