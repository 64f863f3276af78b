package strategy

import (
	"math/rand/v2"
	"testing"

	"autotune/internal/test/must"
	"autotune/space"
	"autotune/space/expr"
)

func numbers(values ...int64) []expr.Value {
	var list []expr.Value
	for _, n := range values {
		list = append(list, expr.Int(n))
	}
	return list
}

// blocks returns a space of block shapes with the tunables x and y, and another tunable that is unrelated to them.
func blocks(t *testing.T) *space.Space {
	t.Helper()
	s, err := space.New(t.Context(),
		space.Part{Template: "a", Constraints: []*expr.Expr{expr.MustParse("x * y <= 64")}, Tunables: []space.Tunable{
			{Name: "x", Values: numbers(8, 12, 16, 24, 32)}, {Name: "y", Values: numbers(1, 2, 4)},
			{Name: "way", Values: []expr.Value{expr.String("row"), expr.String("column")}},
		}},
		space.Part{Template: "b", Tunables: []space.Tunable{{Name: "y", Values: numbers(1, 2, 4)}}},
	)
	must.OK(t, err)
	return s
}

// An exchange doubles one tunable and halves another, so it keeps their product, and its result is valid.
func TestExchanges(t *testing.T) {
	s := blocks(t)
	a := newArchive(s, rand.New(rand.NewPCG(1, 1)), nil)
	product := func(id int64) int64 {
		p := int64(1)
		for _, v := range s.At(id).Values {
			if n, ok := v.AsInt(); ok {
				p *= n
			}
		}
		return p
	}
	found := 0
	for id := range s.Len() {
		for _, near := range a.exchanges(id) {
			found++
			if near == id || product(near) != product(id) || s.PartOf(near) != s.PartOf(id) {
				t.Errorf("%v is exchanged for %v", s.At(id), s.At(near))
			}
		}
	}
	// The 6 exchanges between block shapes, 8x2-16x1, 8x4-16x2, 12x2-24x1, 12x4-24x2, 16x2-32x1 and 16x4-32x2, are
	// found in both directions and for each of the 2 values of the tunable `way`, so there are 24.
	if found != 24 {
		t.Errorf("%d exchanges, want 24", found)
	}
}

// Only the tunable x gets a column for its exponents of two, since these do not ascend with its values.
func TestPowersOfTwo(t *testing.T) {
	s := blocks(t)
	c := newFeatureCache(newArchive(s, rand.New(rand.NewPCG(1, 1)), nil))
	if columns := len(c.powers.largest); columns != 1 {
		t.Fatalf("%d columns, want 1", columns)
	}
	want := map[int64]float64{8: 0.3, 12: 0.2, 16: 0.4, 24: 0.3, 32: 0.5}
	for id := range s.Len() {
		row := c.features(id)
		if len(row) != len(c.categorical) {
			t.Fatalf("%d features of %d", len(row), len(c.categorical))
		}
		expected := policy.power / 2.0
		if s.PartOf(id) == 0 {
			x, _ := s.At(id).Values[0].AsInt()
			expected = want[x]
		}
		if got := row[len(row)-1]; got != expected {
			t.Errorf("%v has the feature %v, want %v", s.At(id), got, expected)
		}
	}
}
