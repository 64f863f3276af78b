package family

import (
	"slices"

	"autotune/internal/lists"
)

// bases are the bases of Halton's sequence for the dimensions that vary. Halton's sequence spreads points evenly and
// needs no seed, so every run uses the same shapes. The list of bases leaves out 2, because every second shape is
// rounded, and in Halton's sequence of base 2 every second point lies in the same half of a dimension.
var bases = []int{3, 5, 7, 11, 13, 17, 19, 23}

func halton(index, base int) (u float64) {
	for f := 1 / float64(base); index > 0; index, f = index/base, f/float64(base) {
		u += f * float64(index%base)
	}
	return u
}

// Samples returns n shapes, or all if there are fewer. The corners of the extents come first, followed by shapes that
// are spread evenly on a logarithmic scale; every second shape has round dimensions, as real shapes often have. The
// function kindsOf names the kinds of kernels that may serve a shape; a shape for which kindsOf returns nothing does
// not become a sample. Each kind of shapes gets policy.leastOfKind samples if n is large enough.
func (s Shapes) Samples(n int, kindsOf func(shape []int64) []string) [][]int64 {
	var kinds [][]string // kinds of the drawn shapes
	var drawn [][]int64
	take := func(shape []int64) (full bool) {
		if of := kindsOf(shape); len(of) > 0 && !has(drawn, shape) {
			drawn, kinds = append(drawn, shape), append(kinds, of)
		}
		return len(drawn) == policy.drawn*n
	}
	for _, corner := range s.corners(max(2, n/3)) {
		take(corner)
	}
	corners := len(drawn)
	s.draw(n, 1, take)
	return lists.Of(balanced(kinds, n, corners), func(at int) []int64 { return drawn[at] })
}

// balanced chooses n of the drawn shapes: first the corners, then shapes of kinds of kernels that have too few samples,
// then others.
func balanced(kinds [][]string, n, corners int) (taken []int) {
	counts := map[string]int{}
	for _, kind := range slices.Concat(kinds...) {
		counts[kind] = 0
	}
	share := max(1, min(policy.leastOfKind, n/max(1, len(counts))))
	for _, others := range []bool{false, true} {
		for i, of := range kinds {
			wanted := others || i < corners || slices.ContainsFunc(of, func(k string) bool { return counts[k] < share })
			if wanted && len(taken) < n && !slices.Contains(taken, i) {
				taken = append(taken, i)
				for _, kind := range of {
					counts[kind]++
				}
			}
		}
	}
	slices.Sort(taken)
	return taken
}

// HeldOut returns n shapes of the same extents that are not samples, or all such shapes if there are fewer.
func (s Shapes) HeldOut(n int, samples [][]int64, allowed func(shape []int64) bool) (drawn [][]int64) {
	s.draw(n, policy.heldOutFrom, func(shape []int64) (full bool) {
		if len(drawn) < n && !has(samples, shape) && !has(drawn, shape) && allowed(shape) {
			drawn = append(drawn, shape)
		}
		return len(drawn) == n
	})
	return drawn
}

func has(shapes [][]int64, one []int64) bool {
	return slices.ContainsFunc(shapes, func(s []int64) bool { return slices.Equal(s, one) })
}

// draw calls the function `take` with one shape after another until `take` returns true. If there are few shapes, draw
// passes all of them in an order in which neighbours are far apart; otherwise it passes elements of Halton's sequence,
// beginning at index `from`.
func (s Shapes) draw(n, from int, take func(shape []int64) (full bool)) {
	few := max(64, 2*n)
	if list := s.all(few + 1); len(list) <= few {
		for _, start := range []int{1, 3, 0, 2} {
			for i := start; i < len(list); i += 4 {
				take(list[i])
			}
		}
		return
	}
	for i := range policy.tries * n {
		varying := 0
		full := take(lists.Of(s, func(e Extent) int64 {
			v := e.At(halton(from+i, bases[varying%len(bases)]))
			if e.Varies() {
				varying++
			}
			if i%2 == 0 {
				return e.Round(v)
			}
			return v
		}))
		if full {
			return
		}
	}
}

// corners returns the shapes whose dimensions are all at bounds of their extents, in pairs of opposite corners,
// beginning with the smallest and the largest shape.
func (s Shapes) corners(most int) (all [][]int64) {
	varying := len(lists.Where(s, Extent.Varies))
	for i := range min(most, 1<<min(varying, 16)) {
		bits := i/2 ^ -(i % 2) // an odd i gives the opposite corner of the one before
		all = append(all, lists.Of(s, func(e Extent) int64 {
			v := e.Low()
			if bits&1 == 1 {
				v = e.High()
			}
			if e.Varies() {
				bits >>= 1
			}
			return v
		}))
	}
	return all
}
