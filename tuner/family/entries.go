package family

import (
	"math"
	"slices"
)

// slowdowns has a row for each sample, which contains the slowdown of each kernel: the kernel's time divided by the
// time of the best kernel for that shape, or infinity if the kernel does not serve the shape.
type slowdowns [][]float64

func (s slowdowns) best(sample int, kernels []int) float64 {
	least := math.Inf(1)
	for _, k := range kernels {
		least = min(least, s[sample][k])
	}
	return least
}

// cost rates a set of kernels, assuming that each sample uses the fastest kernel of the set: cost adds the
// logarithms of the samples' slowdowns, and a large penalty for each sample whose slowdown exceeds the limit. The
// limit of a sample's slowdown is `most`, or slightly more than the slowdown of the sample's best candidate if no
// candidate reaches `most`.
func (s slowdowns) cost(kernels []int, most float64) (sum float64) {
	for i, row := range s {
		x := min(s.best(i, kernels), policy.unserved)
		if sum += math.Log(x); x > max(most, policy.beyondBest*min(slices.Min(row), policy.unserved)) {
			sum += policy.overLimit
		}
	}
	return sum
}

// entries returns a small set of kernels that keeps slowdowns within their limits. A kernel becomes a member of the set
// only if it lowers the mean logarithm of the slowdowns by at least policy.entryPrice. entries repeatedly adds the
// kernel that lowers the cost most, and finally drops kernels that the other members make unnecessary.
func (s slowdowns) entries(most float64) (chosen []int) {
	if len(s) == 0 || len(s[0]) == 0 {
		return nil
	}
	price := policy.entryPrice * float64(len(s))
	for now := s.cost(nil, most); ; {
		best, least := -1, now-price
		if len(chosen) >= policy.mostEntries {
			least = now - policy.overLimit + 1 // only a kernel that brings a sample within its limit
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
