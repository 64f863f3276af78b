package expr_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"autotune/space/expr"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ in, want expr.Value }{
		{expr.Bool(true), expr.Int(1)},
		{expr.Float(1), expr.Int(1)},
		{expr.Float(math.Copysign(0, -1)), expr.Int(0)},
		{expr.Float(0.5), expr.Float(0.5)},
		{expr.String("1"), expr.String("1")},
		{expr.Float(1 << 53), expr.Int(1 << 53)},
		{expr.Int(1<<53 + 1), expr.Int(1<<53 + 1)}, // no float equals this int
		{expr.Float(1 << 62), expr.Int(1 << 62)},
		{expr.Float(-1 << 63), expr.Int(math.MinInt64)},
		{expr.Float(1 << 63), expr.Float(1 << 63)}, // no int64 equals this float
		{expr.Float(-1 << 64), expr.Float(-1 << 64)},
		{expr.Float(math.Inf(1)), expr.Float(math.Inf(1))},
	} {
		if got := c.in.Canonical(); got != c.want {
			t.Errorf("%s %s: got %s %s, want %s %s", c.in.Kind(), c.in, got.Kind(), got, c.want.Kind(), c.want)
		}
	}
}

// Two values are equal exactly if their canonical values are the same.
func TestCanonicalIsEquality(t *testing.T) {
	number := rapid.OneOf(
		rapid.Map(rapid.Int64(), expr.Int),
		rapid.Map(rapid.Int64(), func(i int64) expr.Value { return expr.Float(float64(i)) }),
		rapid.Map(rapid.Int64Range(1<<53-2, 1<<53+2), expr.Int),
		rapid.Map(rapid.Int64Range(1<<53-2, 1<<53+2), func(i int64) expr.Value { return expr.Float(float64(i)) }),
		rapid.Map(rapid.SampledFrom([]int64{-2, -1, 0, 1, 2}), func(i int64) expr.Value { return expr.Float(float64(i) * (1 << 62)) }),
		rapid.Map(rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, -1, 0, 1}), expr.Int),
		rapid.Map(rapid.Bool(), expr.Bool),
		rapid.Just(expr.Float(0.5)),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		if same := a.Canonical() == b.Canonical(); same != a.Equal(b) {
			t.Fatalf("%s %s and %s %s: canonically the same %v, equal %v", a.Kind(), a, b.Kind(), b, same, a.Equal(b))
		}
	})
}
