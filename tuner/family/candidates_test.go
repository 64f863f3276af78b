package family

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/final"
)

func optionOf(i int, gates *final.Gates) candidate {
	c := space.Configuration{Template: "walk", Values: space.Values{{Name: "i", Value: expr.Int(int64(i))}}}
	return candidate{Entry: Entry{Configuration: c, Gates: gates}}
}

// Each search has a candidate that won it, if there is room; none is there twice, and what won many
// searches is among the few.
func TestCandidatesCover(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		var all options
		open, won := map[string]bool{}, map[string][]int{}
		for search := range 1 + r.IntN(9) {
			name := fmt.Sprint(search)
			open[name] = true
			for range 1 + r.IntN(4) {
				i := r.IntN(12)
				won[name] = append(won[name], i)
				all.add(optionOf(i, nil), name)
			}
		}
		most := slices.MaxFunc(all, func(a, b *option) int { return len(a.won) - len(b.won) })
		enough := len(won) - r.IntN(2)
		taken := all.cover(open, nil, enough)
		if len(taken) > enough {
			t.Fatalf("%d candidates, %d are enough", len(taken), enough)
		}
		for i, c := range taken {
			if slices.ContainsFunc(taken[:i], c.same) {
				t.Errorf("%v is there twice", c.Configuration)
			}
		}
		if enough > 0 && len(all.cover(map[string]bool{}, nil, 9)) > 0 {
			t.Error("candidates were taken although no search is open")
		}
		if i := slices.IndexFunc(all, func(o *option) bool { return o.taken }); enough > 0 && len(all[i].won) < len(most.won) && !most.taken {
			t.Error("what won most is not taken")
		}
		for name, winners := range won {
			has := slices.ContainsFunc(taken, func(c candidate) bool {
				return slices.ContainsFunc(winners, func(i int) bool { return c.same(optionOf(i, nil)) })
			})
			if has == open[name] || enough == len(won) && !has {
				t.Errorf("search %s: candidate %v, open %v", name, has, open[name])
			}
		}
	}
}

// Of one kernel that two searches found, the one that went through the gates stays.
func TestGatedOptionStays(t *testing.T) {
	var all options
	gates := &final.Gates{Alone: true}
	for _, c := range []candidate{optionOf(1, nil), optionOf(1, gates), optionOf(1, nil)} {
		all.add(c, fmt.Sprint(len(all)))
	}
	if len(all) != 1 || all[0].Gates != gates {
		t.Errorf("%d options", len(all))
	}
}
