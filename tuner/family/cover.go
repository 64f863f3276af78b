package family

import (
	"cmp"
	"math"
	"slices"

	"autotune/internal/lists"
)

// slowdowns are, of each sample, how many times the shape's own best each variant takes. It is
// infinite where a variant does not serve the shape.
type slowdowns [][]float64

// best is the least slowdown of a sample among some variants.
func (s slowdowns) best(sample int, variants []int) float64 {
	least := math.Inf(1)
	for _, v := range variants {
		least = min(least, s[sample][v])
	}
	return least
}

// total is how variants do on all samples, each sample with the best of them: the sum of logarithms.
func (s slowdowns) total(variants []int) (sum float64) {
	for i := range s {
		sum += math.Log(min(s.best(i, variants), unserved))
	}
	return sum
}

// beyondReach is how much worse than the best that there is a sample may be where even that is
// slower than allowed.
const beyondReach = 1.02

// limits are what each sample may take at most: as asked for, or hardly more than the best of
// all variants takes if that is more.
func (s slowdowns) limits(most float64) []float64 {
	all := make([]float64, len(s))
	for i := range s {
		all[i] = max(most, beyondReach*slices.Min(s[i]))
	}
	return all
}

// covers tells whether variants keep to every sample's limit.
func (s slowdowns) covers(variants []int, limits []float64) bool {
	for i, limit := range limits {
		if s.best(i, variants) > limit {
			return false
		}
	}
	return true
}

// cover is a small set of variants that keeps to the samples' limits. It takes the variant that
// serves the most samples, again and again, and drops those that the others make unneeded.
func (s slowdowns) cover(limits []float64) (chosen []int) {
	if len(s) == 0 {
		return nil
	}
	all := lists.Places(len(s[0]))
	for !s.covers(chosen, limits) {
		next := slices.MaxFunc(all, func(a, b int) int {
			na, sa := s.gain(chosen, a, limits)
			nb, sb := s.gain(chosen, b, limits)
			return cmp.Or(cmp.Compare(na, nb), cmp.Compare(sb, sa))
		})
		if n, _ := s.gain(chosen, next, limits); n == 0 {
			break // a sample that nothing serves
		}
		chosen = append(chosen, next)
	}
	for i := 0; i < len(chosen); {
		if rest := slices.Delete(slices.Clone(chosen), i, i+1); s.covers(rest, limits) {
			chosen = rest
		} else {
			i++
		}
	}
	slices.Sort(chosen)
	return chosen
}

// gain is how many samples a variant serves that those chosen do not, and how slowly.
func (s slowdowns) gain(chosen []int, v int, limits []float64) (n int, sum float64) {
	for i, limit := range limits {
		if s.best(i, chosen) > limit && s[i][v] <= limit {
			n, sum = n+1, sum+math.Log(s[i][v])
		}
	}
	return n, sum
}

// What an entry beyond those that the limits need must be worth, and how many there may be in all.
const (
	entryPrice  = 0.001 // by how much it makes the geometric mean better
	mostEntries = 40
)

// extend adds variants that are worth an entry, the one that makes the set fastest first. With them there are no more
// than so many.
func (s slowdowns) extend(chosen []int, most int) []int {
	for len(s) > 0 && len(chosen) < most {
		before := s.total(chosen)
		best, least := -1, before-entryPrice*float64(len(s))
		for v := range s[0] {
			if sum := s.total(append(slices.Clip(chosen), v)); sum <= least {
				best, least = v, sum
			}
		}
		if best < 0 {
			break
		}
		chosen = append(chosen, best)
	}
	slices.Sort(chosen)
	return chosen
}
