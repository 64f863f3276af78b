package space_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autotune/internal/test/must"
	"autotune/space"
	"autotune/space/expr"
)

func listedTunables(sizes ...int) []space.Tunable {
	var tunables []space.Tunable
	for k, n := range sizes {
		t := space.Tunable{Name: string(rune('a' + k))}
		for v := range n {
			t.Values = append(t.Values, expr.Int(int64(10*v)))
		}
		tunables = append(tunables, t)
	}
	return tunables
}

// valuesOf returns the values that listedTunables have at the given indices.
func valuesOf(choices ...[]int) []space.Values {
	all := make([]space.Values, len(choices))
	for i, choice := range choices {
		for k, at := range choice {
			all[i] = append(all[i], space.Value{Name: string(rune('a' + k)), Value: expr.Int(int64(10 * at))})
		}
	}
	return all
}

// A space built by Explicit contains the listed configurations and no others.
func TestExplicitHoldsTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(t, "sizes")
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var all, kept [][]int
		all = [][]int{{}}
		for _, n := range sizes {
			var longer [][]int
			for _, prefix := range all {
				for v := range n {
					longer = append(longer, append(append([]int{}, prefix...), v))
				}
			}
			all = longer
		}
		for _, choice := range all {
			if rng.Float64() < share {
				kept = append(kept, choice)
			}
		}
		rng.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
		s, err := space.Explicit(space.Listed{Template: "x", Tunables: listedTunables(sizes...), Configurations: valuesOf(kept...)})
		must.OK(t, err)
		if s.Len() != int64(len(kept)) {
			t.Fatalf("%d configurations, want %d", s.Len(), len(kept))
		}
		found := map[int64]bool{}
		for _, choice := range kept {
			i, ok := s.IndexOf(0, choice)
			if !ok || found[i] {
				t.Fatalf("IndexOf(%v) = %d, %v", choice, i, ok)
			}
			found[i] = true
			for k, v := range s.Choice(i) {
				if v != choice[k] {
					t.Fatalf("Choice(IndexOf(%v)) = %v", choice, s.Choice(i))
				}
			}
		}
	})
}

func TestExplicitOfSeveralTemplates(t *testing.T) {
	s, err := space.Explicit(
		space.Listed{Template: "p", Tunables: listedTunables(2, 2), Configurations: valuesOf([]int{1, 1}, []int{0, 1}, []int{1, 0}, []int{0, 1})},
		space.Listed{Template: "q", Tunables: listedTunables(3), Configurations: valuesOf([]int{2})},
	)
	must.OK(t, err)
	if got := s.At(0).Key() + " " + s.At(3).Key(); s.Len() != 4 || got != "p|a=0|b=10 q|a=20" {
		t.Errorf("%d configurations, %s", s.Len(), got)
	}
	if n := s.Neighbours(0); len(n) != 1 || s.At(n[0]).Key() != "p|a=10|b=10" {
		t.Errorf("neighbours %v", n)
	}
}

func TestExplicitErrors(t *testing.T) {
	for want, l := range map[string]space.Listed{
		"at least one tunable":  {},
		"a=0 b=10 has other":    {Tunables: listedTunables(2), Configurations: valuesOf([]int{0, 1})},
		"a=20 has other":        {Tunables: listedTunables(2), Configurations: valuesOf([]int{2})},
		" has other tunables":   {Tunables: listedTunables(2), Configurations: valuesOf([]int{})},
		"template z: tunable a": {Template: "z", Tunables: []space.Tunable{{Name: "a"}}},
	} {
		if _, err := space.Explicit(l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}
