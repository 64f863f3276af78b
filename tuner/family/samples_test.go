package family

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
)

func have(s Shapes, shape []int64) bool {
	for i, e := range s {
		if !e.Has(shape[i]) {
			return false
		}
	}
	return len(shape) == len(s)
}

func every([]int64) bool { return true }

func alike([]int64) []string { return []string{""} }

func TestParseShapes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{1,8,32}x64x{14..112}x{14..112}", "{1,8,32}x64x{14..112}x{14..112}"},
		{"7", "7"},
		{"{8,1..4,3..6}x{5}", "{1..6,8}x5"},
		{"{3,3}", "3"},
		{"", "`` is no dimension"},
		{"{1,8", "`{1` is no dimension"},
		{"1}x2", "`1}` is no dimension"},
		{"1,8", "`1,8` is no range"},
		{"1..8", "`1..8` is no range"},
		{"{", "`{` is no dimension"},
		{"{{1}}", "`{1}` is no dimension"},
		{"{}", "`` is no dimension"},
		{"{1,}", "`` is no dimension"},
		{"{4..2}", "`{4..2}` is no range"},
		{"{0..2}", "`0` is no dimension from 1"},
		{"{1..}", "`` is no dimension"},
		{"{1...3}", "`.3` is no dimension"},
		{"+3", "`+3` is no dimension"},
		{"99999999999999999999", "is no dimension"},
		{"1x2y", "`2y` is no dimension"},
		{strings.Repeat("1x", 600), "more than 1000 characters"},
	} {
		s, err := ParseShapes(c.text)
		got := s.String()
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.text, got)
		}
	}
}

func FuzzParseShapes(f *testing.F) {
	for _, text := range []string{"{1,8,32}x64x{14..112}", "7", "{8,1..4,3..6}x{5}", "{4..2}", "{{1}", "1x", "{1..1099511627776}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseShapes(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") && !strings.Contains(text, "\n") {
				t.Error(err)
			}
			return
		}
		again, err := ParseShapes(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%s is read as %s and then as %s: %v", text, s, again, err)
		}
		for _, shape := range s.Samples(5, alike) {
			if !have(s, shape) {
				t.Errorf("%v is not among %s", shape, s)
			}
		}
	})
}

// Samples are distinct, within the extents, include corners and are spread evenly on a logarithmic scale. Held-out
// shapes are never samples.
func TestSamples(t *testing.T) {
	for _, text := range []string{"{1..4096}x64", "{1,8,32}x64x{14..112}x{14..112}", "{1..3}x{1,2}", "{1..1000000}x{1..1000000}"} {
		s, err := ParseShapes(text)
		must.OK(t, err)
		count := len(s.all(31))
		samples := s.Samples(20, alike)
		held := s.HeldOut(10, samples, every)
		if want := min(20, count); len(samples) != want {
			t.Errorf("%s: %d samples, want %d", text, len(samples), want)
		}
		if want := min(10, max(0, count-20)); len(held) != want {
			t.Errorf("%s: %d held out, want %d", text, len(held), want)
		}
		all := slices.Concat(samples, held)
		for i, shape := range all {
			if !have(s, shape) || has(all[:i], shape) {
				t.Errorf("%s: %v is twice among them, or outside", text, shape)
			}
		}
		var low, high []int64
		for _, e := range s {
			low, high = append(low, e.Low()), append(high, e.High())
		}
		if !has(samples, low) || !has(samples, high) {
			t.Errorf("%s: corners are missing in %v", text, samples)
		}
	}
	s, _ := ParseShapes("{1..4096}")
	third := [3]int{}
	for _, shape := range s.Samples(30, alike) {
		third[min(2, int(math.Log2(float64(shape[0]))/4))]++
	}
	if slices.Min(third[:]) < 7 {
		t.Errorf("samples are not spread: %v", third)
	}
	s, _ = ParseShapes("{1..32}x{14..20}") // 224 shapes
	if low := slices.DeleteFunc(s.Samples(40, alike), func(shape []int64) bool { return shape[0] > 16 }); len(low) > 34 {
		t.Errorf("%d of 40 samples are in the lower half of a small range", len(low))
	}
	s, _ = ParseShapes("{1..4096}")
	odd := s.Samples(10, func(shape []int64) []string { return make([]string, shape[0]%2) })
	if len(odd) != 10 || slices.ContainsFunc(odd, func(shape []int64) bool { return shape[0]%2 == 0 }) {
		t.Errorf("%v, want 10 odd ones", odd)
	}
}

// If a few shapes need kernels of their own kind, Samples includes such shapes as well as the corners.
func TestSamplesOfKinds(t *testing.T) {
	s, _ := ParseShapes("{1..4096}x{256..16384}")
	kinds := func(shape []int64) []string {
		if shape[0] > 64 {
			return []string{"many"}
		}
		return []string{fmt.Sprint("few ", (shape[0]+7)/8), "few"}
	}
	counts := map[string]int{}
	samples := s.Samples(40, kinds)
	for _, shape := range samples {
		for _, kind := range kinds(shape) {
			counts[kind]++
		}
	}
	if len(samples) != 40 || len(counts) != 10 || counts["many"] < 14 || slices.Min(slices.Collect(maps.Values(counts))) < 2 {
		t.Errorf("%d samples, of kinds %v", len(samples), counts)
	}
	if plain := s.Samples(40, alike); !slices.EqualFunc(plain[:4], samples[:4], slices.Equal) {
		t.Errorf("corners %v became %v", plain[:4], samples[:4])
	}
}
