package expr_test

import (
	"encoding/json"
	"math"
	"testing"

	"autotune/space/expr"

	"pgregory.net/rapid"
)

func drawValue(t *rapid.T) expr.Value {
	return rapid.OneOf(
		rapid.Map(rapid.Int64(), expr.Int), rapid.Map(rapid.Float64(), expr.Float),
		rapid.Map(rapid.Bool(), expr.Bool), rapid.Map(rapid.String(), expr.String),
	).Draw(t, "value")
}

func TestValueRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t)
		if f, ok := v.AsFloat(); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
			return
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back expr.Value
		if err := json.Unmarshal(data, &back); err != nil || !sameText(back, v) {
			t.Fatalf("through %s: %v, %v", data, back, err)
		}
	})
}

// sameText compares values but treats all strings as equal, because JSON replaces invalid UTF-8.
func sameText(a, b expr.Value) bool {
	return a == b || a.Kind() == expr.KindString && b.Kind() == expr.KindString
}

func TestValueShown(t *testing.T) {
	for _, c := range []struct {
		v            expr.Value
		text, source string
		truth        bool
	}{
		{expr.Int(-12), "-12", "-12", true}, {expr.Float(0.5), "0.5", "0.5", true}, {expr.Float(2), "2.0", "2.0", true}, {expr.Float(1e30), "1e+30", "1e+30", true},
		{expr.Bool(true), "true", "True", true}, {expr.Bool(false), "false", "False", false}, {expr.String("a b"), "a b", "'a b'", true}, {expr.String(""), "", "''", false},
		{expr.Float(0), "0.0", "0.0", false}, {expr.Float(math.Inf(-1)), "-Inf", "-1e999", true},
	} {
		if c.v.String() != c.text || c.v.Source() != c.source || c.v.Truth() != c.truth {
			t.Errorf("%#v: %s, %s, %v", c.v, c.v, c.v.Source(), c.v.Truth())
		}
	}
	for _, text := range []string{"[1]", "{}", "1e999", "99999999999999999999", "9223372036854775808", "01", `"a`, ""} {
		var v expr.Value
		if err := json.Unmarshal([]byte(text), &v); err == nil {
			t.Errorf("%s is read as %v", text, v)
		}
	}
}
