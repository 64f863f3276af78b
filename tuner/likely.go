package tuner

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"autotune/space"
	"autotune/tuner/operator"
)

const (
	// likelyFirst is how many configurations are tried because their estimates are low.
	likelyFirst = 8
	// likelyOfTemplate is how many of them are one template's while others have estimates.
	// Estimates compare configurations of a template better than templates with each other.
	likelyOfTemplate = 5
	// likelyAmong is how many configurations of a template are estimated at most. A sample of
	// that many hardly misses the best of a million by more than a thousandth.
	likelyAmong = 4096
)

// likelyOf are the configurations with the lowest estimates, the lowest first, of those
// templates that have any. Each template gives likelyOfTemplate before one gives more. Two
// of a template differ in two tunables at least: one that differs in a single tunable is
// much the same, and the strategy finds it.
func likelyOf(problem *operator.Problem, sp *space.Space, seed uint64) ([]int64, error) {
	type estimated struct {
		id       int64
		part     int // of the space: its template's
		estimate float64
	}
	var all []estimated
	rng := rand.New(rand.NewPCG(seed, 0x11fe))
	for part, p := range sp.Parts() {
		if !problem.Estimates(p.Template) {
			continue
		}
		first, end := sp.Range(part)
		for i := range min(end-first, likelyAmong) {
			id := first + i
			if end-first > likelyAmong {
				id = first + rng.Int64N(end-first)
			}
			x, err := problem.Estimate(sp.At(id))
			if err != nil {
				return nil, err
			}
			all = append(all, estimated{id, part, x})
		}
	}
	slices.SortStableFunc(all, func(a, b estimated) int { return cmp.Compare(a.estimate, b.estimate) })
	var chosen []int64
	of := map[int]int{} // chosen of a template, by its part
	for _, most := range []int{likelyOfTemplate, likelyFirst} {
		for _, e := range all {
			if len(chosen) == likelyFirst {
				return chosen, nil
			}
			if of[e.part] < most && !slices.ContainsFunc(chosen, func(id int64) bool { return alike(sp.At(id), sp.At(e.id)) }) {
				chosen = append(chosen, e.id)
				of[e.part]++
			}
		}
	}
	return chosen, nil
}

// afterLikely orders what is tried first. The lowest estimate comes first, so that slow ones
// are soon recognised beside it. Then come the untuned default, which speedups refer to, and
// the other low estimates.
func afterLikely(likely, others []int64) []int64 {
	one := func(ids []int64) int { return min(len(ids), 1) }
	return slices.Concat(likely[:one(likely)], others[:one(others)], likely[one(likely):], others[one(others):])
}

// alike tells whether two configurations are of one template and differ in one tunable at
// most.
func alike(a, b space.Configuration) bool {
	return a.Template == b.Template && a.Values.Differences(b.Values) < 2
}
