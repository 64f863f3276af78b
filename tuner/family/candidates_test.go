package family

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/final"
	"autotune/tuner/operator"
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

// What won for a few rows is compiled anew for samples of other numbers of rows, and each sample takes what won
// nearest to it.
func TestSpreadToNearest(t *testing.T) {
	op, err := operator.Find("matmul")
	if err != nil {
		t.Fatal(err)
	}
	shapes := [][]int64{{1, 8, 4096, 2048}, {1, 44, 4096, 2048}, {1, 48, 4096, 512}, {1, 500, 4096, 512}}
	var problems []*operator.Problem
	for _, shape := range shapes {
		request := operator.Request{Shape: shape, Free: []string{"m", "n"}, Math: "fp32", Parameters: map[string]string{"type": "bf16", "transpose_b": "true"}}
		p, err := op.Bind(request, operator.TypicalLimits())
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, p)
	}
	few := func(warps int64) space.Configuration {
		values := space.Values{}
		for _, v := range []struct {
			name  string
			value int64
		}{{"line_blocks", 1}, {"depth", 1}, {"warps", warps}, {"stages", 3}, {"splits", 1}} {
			values = append(values, space.Value{Name: v.name, Value: expr.Int(v.value)})
		}
		return space.Configuration{Template: "few_rows", Values: values}
	}
	var all options
	for i, warps := range []int64{16, 8} { // at 8 rows, and at 44
		c, err := candidateAt(problems[i], few(warps))
		if err != nil {
			t.Fatal(err)
		}
		all.add(c, fmt.Sprint(i))
		all[i].taken = true
	}
	if err := all.spread(problems); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range all {
		warps, _ := o.Configuration.Get("warps")
		got = append(got, fmt.Sprint(warps, o.serves))
	}
	if want := []string{"16 [0]", "8 [1 2]", "8 [0]", "16 [1 2]"}; !slices.Equal(got, want) {
		t.Errorf("options %q, want %q", got, want)
	}
	taken := all.nearest(shapes, nil, 6)
	if len(taken) != 2 || !taken[0].same(all[2].candidate) || !taken[1].same(all[3].candidate) {
		t.Errorf("took %v", taken)
	}
	all[2].taken, all[3].taken = false, false
	if taken := all.nearest(shapes, nil, 4); len(taken) != 1 || !taken[0].same(all[2].candidate) {
		t.Errorf("with one lap left, took %v", taken)
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
