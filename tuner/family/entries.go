package family

import (
	"math"
	"slices"
)

// slowdowns are, for each sample, how many times the shape's own best each kernel takes: infinite where a kernel does
// not serve the shape.
type slowdowns [][]float64

func (s slowdowns) best(sample int, kernels []int) float64 {
	least := math.Inf(1)
	for _, k := range kernels {
		least = min(least, s[sample][k])
	}
	return least
}

// cost is how the samples do with some kernels, each sample with the best of them: the sum of logarithms, and a large
// price for each sample that takes more than most times its own best. Where even the best candidate takes more, the
// limit is a little above that.
func (s slowdowns) cost(kernels []int, most float64) (sum float64) {
	for i, row := range s {
		x := min(s.best(i, kernels), policy.unserved)
		if sum += math.Log(x); x > max(most, policy.beyondBest*min(slices.Min(row), policy.unserved)) {
			sum += policy.overLimit
		}
	}
	return sum
}

// entries are a small set of kernels that keeps to the samples' limits, and whose members each lower the mean by their
// price. The kernel that helps most is added, again and again; then those go that the others make unneeded.
func (s slowdowns) entries(most float64) (chosen []int) {
	if len(s) == 0 || len(s[0]) == 0 {
		return nil
	}
	price := policy.entryPrice * float64(len(s))
	for now := s.cost(nil, most); ; {
		best, least := -1, now-price
		if len(chosen) >= policy.mostEntries {
			least = now - policy.overLimit + 1 // only what a limit needs
		}
		for k := range s[0] {
			if sum := s.cost(append(slices.Clip(chosen), k), most); sum <= least {
				best, least = k, sum
			}
		}
		if best < 0 {
			break
		}
		chosen, now = append(chosen, best), least
	}
	for i := 0; i < len(chosen); {
		rest := slices.Delete(slices.Clone(chosen), i, i+1)
		if s.cost(rest, most) <= s.cost(chosen, most)+price {
			chosen = rest
		} else {
			i++
		}
	}
	slices.Sort(chosen)
	return chosen
}
