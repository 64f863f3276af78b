package space_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"autotune/space"
	"autotune/space/expr"
)

func ints(values ...int64) []expr.Value {
	out := make([]expr.Value, len(values))
	for i, v := range values {
		out[i] = expr.Int(v)
	}
	return out
}

func upTo(n int64) []expr.Value {
	out := make([]expr.Value, n)
	for i := range out {
		out[i] = expr.Int(int64(i) + 1)
	}
	return out
}

func newSpace(t testing.TB, parts ...space.Part) *space.Space {
	t.Helper()
	s, err := space.New(t.Context(), parts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parsed(sources ...string) []*expr.Expr {
	var all []*expr.Expr
	for _, source := range sources {
		all = append(all, expr.MustParse(source))
	}
	return all
}

func TestErrors(t *testing.T) {
	a := space.Tunable{Name: "a", Values: ints(0, 1, 2)}
	b := space.Tunable{Name: "b", Values: ints(1, 2)}
	part := func(constraints ...string) []space.Part {
		return []space.Part{{Template: "direct", Tunables: []space.Tunable{a, b}, Constraints: parsed(constraints...)}}
	}
	tunables := func(ts ...space.Tunable) []space.Part { return []space.Part{{Tunables: ts}} }
	for _, c := range []struct {
		parts []space.Part
		want  string
	}{
		{part("a < c"), `template direct: constraint 1: "a < c", column 5: unknown name 'c': known are a, b`},
		{part("b // a < 2"), `template direct: constraint 1 cannot be evaluated for a=0 b=1: "b // a < 2", column 3: division by zero`},
		{part("1 // a < 2"), `template direct: constraint 1 cannot be evaluated for a=0: "1 // a < 2", column 3: division by zero`},
		{part("1 // 0 < 2"), `constraint 1 cannot be evaluated: "1 // 0 < 2", column 3: division by zero`},
		{part("a < 'x'"), `'<' cannot compare int and str`},
		{tunables(space.Tunable{Name: "a"}), "tunable a has no values: give it at least one"},
		{tunables(a, a), "tunable a is declared twice: rename one"},
		{tunables(space.Tunable{Name: "a", Values: ints(4, 2, 4)}), "tunable a has the value 4 twice (value 1 and value 3): remove one"},
		{tunables(space.Tunable{Name: "a", Values: []expr.Value{expr.Int(1), expr.Bool(true)}}), "tunable a has the value true twice"},
		{[]space.Part{{Tunables: []space.Tunable{a}, Constants: map[string]expr.Value{"a": expr.Int(1)}}}, "tunable a is also a constant"},
		{append(part(), part()...), `template "direct" contributes twice`},
	} {
		if _, err := space.New(t.Context(), c.parts...); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// A failing constraint is ignored if another constraint rules the values out, whatever the order of the constraints.
func TestFailingConstraintRuledOut(t *testing.T) {
	a := space.Tunable{Name: "a", Values: ints(0, 1, 2)}
	b := space.Tunable{Name: "b", Values: ints(1, 2)}
	for _, constraints := range [][]string{
		{"b % a == 0", "a != 0"}, {"a != 0", "b % a == 0"}, {"b % a == 0 and a != 0"}, {"a*b != 0", "b % a == 0"}, {"b % a == 0", "a + b > 2 or a == b"},
	} {
		s, err := space.New(t.Context(), space.Part{Tunables: []space.Tunable{a, b}, Constraints: parsed(constraints...)})
		if err != nil || s.Len() == 0 {
			t.Errorf("%v: %v", constraints, err)
		}
	}
}

func TestEmptySpaces(t *testing.T) {
	a, b := space.Tunable{Name: "a", Values: upTo(4)}, space.Tunable{Name: "b", Values: upTo(4)}
	for _, constraints := range [][]string{{"a > 4"}, {"False"}, {"a*b > 16"}, {"a*b == 7"}, {"a < b", "b < a"}, {"a == 1", "a == 2"}} {
		s := newSpace(t, space.Part{Tunables: []space.Tunable{a, b}, Constraints: parsed(constraints...)})
		if s.Len() != 0 || len(s.Sample(rand.New(rand.NewPCG(1, 2)), 3)) != 0 {
			t.Errorf("%v: %d configurations", constraints, s.Len())
		}
		if _, ok := s.Nearest(0, []float64{0, 0}); ok {
			t.Errorf("%v: a nearest configuration", constraints)
		}
		if _, ok := s.Index(space.Configuration{Values: listed(map[string]expr.Value{"a": expr.Int(1), "b": expr.Int(1)})}); ok {
			t.Errorf("%v: found a configuration", constraints)
		}
	}
	if s := newSpace(t); s.Len() != 0 {
		t.Errorf("no parts give %d configurations", s.Len())
	}
	if s := newSpace(t, space.Part{Template: "only"}); s.Len() != 1 || s.At(0).Key() != "only" {
		t.Errorf("no tunables give %d configurations", s.Len())
	}
}

func TestUnion(t *testing.T) {
	s := newSpace(t,
		space.Part{Template: "direct", Tunables: []space.Tunable{{Name: "x", Values: ints(32, 64)}, {Name: "v", Values: ints(1, 2)}}, Constraints: parsed("x * v < limit"), Constants: map[string]expr.Value{"limit": expr.Int(128)}},
		space.Part{Template: "never", Tunables: []space.Tunable{{Name: "x", Values: ints(1)}}, Constraints: parsed("x > 1")},
		space.Part{Template: "tiled", Tunables: []space.Tunable{{Name: "x", Values: ints(16, 128)}, {Name: "order", Values: []expr.Value{expr.String("row"), expr.String("col")}}, {Name: "k", Values: ints(3)}}},
	)
	var keys []string
	for i := range s.Len() {
		keys = append(keys, s.At(i).Key())
		if j, ok := s.Index(s.At(i)); !ok || j != i {
			t.Errorf("Index(At(%d)) = %d, %v", i, j, ok)
		}
	}
	want := "direct|x=32|v=1 direct|x=32|v=2 direct|x=64|v=1 tiled|x=16|order=row|k=3 tiled|x=16|order=col|k=3 tiled|x=128|order=row|k=3 tiled|x=128|order=col|k=3"
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("configurations\n%s, want\n%s", got, want)
	}
	if s.Cartesian() != 9 || s.PartOf(2) != 0 || s.PartOf(3) != 2 {
		t.Errorf("%v combinations; configurations 2 and 3 of parts %d and %d", s.Cartesian(), s.PartOf(2), s.PartOf(3))
	}
	if got := s.At(4).String(); got != "tiled x=16 order=col k=3" {
		t.Errorf("shown as %s", got)
	}
	wantDims := "[{template=direct 2 true} {template=never 2 true} {template=tiled 2 true} {x 5 false} {v 2 false} {order 2 true}]"
	if got := fmt.Sprint(s.Dims()); got != wantDims {
		t.Errorf("dims\n%s, want\n%s", got, wantDims)
	}
	if got := fmt.Sprint(s.Features(2, nil), s.Features(6, nil)); got != "[1 0 0 0.75 0 0.5] [0 0 1 1 0.5 1]" {
		t.Errorf("features %s", got)
	}
	if i, ok := s.Index(space.Configuration{Template: "direct", Values: listed(map[string]expr.Value{"x": expr.Float(64), "v": expr.Bool(true)})}); !ok || i != 2 {
		t.Errorf("a Python-equal configuration is found at %d, %v", i, ok)
	}
	for _, absent := range []map[string]expr.Value{{"x": expr.Int(64)}, {"x": expr.Int(64), "w": expr.Int(1)}, {"x": expr.Int(64), "v": expr.Int(2)}, {"x": expr.Int(5), "v": expr.Int(1)}} {
		if i, ok := s.Index(space.Configuration{Template: "direct", Values: listed(absent)}); ok {
			t.Errorf("%v is found at %d", absent, i)
		}
	}
}

// Sampling, numbering and neighbours also work in a space that is far too large to list.
func TestHugeSpace(t *testing.T) {
	s := newSpace(t, published(t, "atf_gaussian_convolution_pow2.json")[0].Part)
	rng := rand.New(rand.NewPCG(7, 7))
	for _, i := range s.Sample(rng, 200) {
		c := s.At(i)
		if j, ok := s.Index(c); !ok || j != i {
			t.Fatalf("Index(At(%d)) = %d, %v", i, j, ok)
		}
		for _, n := range s.Neighbours(i) {
			d := 0
			for k, v := range s.At(n).Values {
				if v != c.Values[k] {
					d++
				}
			}
			if d != 1 {
				t.Fatalf("%v is no neighbour of %v", s.At(n), c)
			}
		}
		if near, ok := s.Nearest(0, positions(s, i)); !ok || near != i {
			t.Fatalf("the nearest to %v is %v", c, s.At(near))
		}
	}
}

func TestTooLarge(t *testing.T) {
	var p space.Part
	for i := range 22 {
		p.Tunables = append(p.Tunables, space.Tunable{Name: fmt.Sprintf("t%d", i), Values: upTo(10)})
	}
	if _, err := space.New(t.Context(), p); !errors.Is(err, space.ErrTooLarge) {
		t.Errorf("10^22 configurations: %v", err)
	}
	p.Constraints = parsed("(t0*t1 + t2*t3 + t4*t5) * t6 % 7 == t7 * t0")
	if _, err := space.NewWithin(1000, p); !errors.Is(err, space.ErrTooLarge) || !strings.Contains(err.Error(), "1000 partial") {
		t.Errorf("a small bound: %v", err)
	}
}

func TestSampleIsUniform(t *testing.T) {
	s := newSpace(t, space.Part{Tunables: []space.Tunable{{Name: "a", Values: upTo(4)}, {Name: "b", Values: upTo(4)}}, Constraints: parsed("a * b <= 6")})
	rng := rand.New(rand.NewPCG(3, 4))
	counts := make([]int, s.Len())
	const rounds = 9000
	for range rounds {
		for _, i := range s.Sample(rng, 3) {
			counts[i]++
		}
	}
	want := rounds * 3 / int(s.Len())
	for i, n := range counts {
		if n < want*9/10 || n > want*11/10 {
			t.Errorf("%v drawn %d times, expected about %d", s.At(int64(i)), n, want)
		}
	}
	again := func() []int64 { return s.Sample(rand.New(rand.NewPCG(5, 6)), 5) }
	if a, b := fmt.Sprint(again()), fmt.Sprint(again()); a != b {
		t.Errorf("the same generator drew %s and %s", a, b)
	}
}

func BenchmarkWalk(b *testing.B) {
	s := newSpace(b, published(b, "hotspot.json")[0].Part)
	rng := rand.New(rand.NewPCG(1, 1))
	b.Run("At", func(b *testing.B) {
		for b.Loop() {
			s.At(rng.Int64N(s.Len()))
		}
	})
	c := s.At(s.Len() / 2)
	b.Run("Index", func(b *testing.B) {
		for b.Loop() {
			s.Index(c)
		}
	})
	b.Run("Neighbours", func(b *testing.B) {
		for b.Loop() {
			s.Neighbours(rng.Int64N(s.Len()))
		}
	})
	b.Run("Nearest", func(b *testing.B) {
		goal := positions(s, s.Len()/3)
		for b.Loop() {
			s.Nearest(0, goal)
		}
	})
	b.Run("Features", func(b *testing.B) {
		var row []float64
		for b.Loop() {
			row = s.Features(rng.Int64N(s.Len()), row[:0])
		}
	})
}
