package space

import "math/rand/v2"

// Sample draws n distinct configurations, each as likely as any other, in
// random order; all of them if there are no more than n.
func (s *Space) Sample(rng *rand.Rand, n int) []int64 {
	n = int(min(int64(max(n, 0)), s.total))
	// Floyd's way: one draw a configuration, however full the sample gets.
	drawn := make([]int64, 0, n)
	taken := make(map[int64]bool, n)
	for top := s.total - int64(n); top < s.total; top++ {
		i := rng.Int64N(top + 1)
		if taken[i] {
			i = top
		}
		taken[i] = true
		drawn = append(drawn, i)
	}
	rng.Shuffle(n, func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn
}
