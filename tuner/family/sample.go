package family

import (
	"math"
	"slices"

	"autotune/internal/lists"
)

// Shapes are drawn by a sequence that leaves no gaps: Halton's, in a base a dimension. It needs
// no seed, so the same shapes are drawn each time.
var bases = []int{3, 5, 7, 11, 13, 17, 19, 23} // none is 2: every other element is rounded

// heldOutFrom is where in the sequence the shapes begin that are held out.
const heldOutFrom = 1009

// tries bounds how many places of the sequence are looked at for one shape.
const tries = 200

// halton is the element of a sequence that fills the way from 0 to 1 evenly.
func halton(index, base int) (u float64) {
	for f := 1 / float64(base); index > 0; index, f = index/base, f/float64(base) {
		u += f * float64(index%base)
	}
	return u
}

// How many times the samples are drawn to see which kinds there are, and how many samples of a kind are enough.
const (
	looksFor    = 8
	leastOfKind = 2
)

// Samples are n shapes, or all if there are fewer: corners first, then shapes spread over the
// extents by their logarithms. Every other of those has round dimensions, since shapes in use
// often do. Only shapes count that are of some kinds. Each kind has a sample or two, as far as
// shapes of it were seen.
func (s Shapes) Samples(n int, kindsOf func(shape []int64) []string) [][]int64 {
	var kinds [][]string // of the drawn
	d := drawing{Shapes: s, most: looksFor * n, wanted: n, allowed: func(shape []int64) bool {
		of := kindsOf(shape)
		if len(of) > 0 {
			kinds = append(kinds, of)
		}
		return len(of) > 0
	}}
	for _, corner := range s.corners(max(2, n/3)) {
		d.take(corner)
	}
	corners := len(d.drawn)
	d.draw(1)
	return lists.Of(balanced(kinds, n, corners), func(at int) []int64 { return d.drawn[at] })
}

// balanced are the first n of drawn shapes, with others in the place of the last ones, of kinds that would lack
// their share. No kind that has just its share loses one. The first of all, the corners, stay.
func balanced(kinds [][]string, n, corners int) (taken []int) {
	counts := map[string]int{}
	for i, of := range kinds {
		one := 0
		if i < n {
			taken, one = append(taken, i), 1
		}
		for _, kind := range of {
			counts[kind] += one
		}
	}
	share := max(1, min(leastOfKind, n/max(1, len(counts))))
	lacks := func(kind string) bool { return counts[kind] < share }
	needed := func(kind string) bool { return counts[kind] <= share }
	for i := n; i < len(kinds); i++ {
		if !slices.ContainsFunc(kinds[i], lacks) {
			continue
		}
		for at := len(taken) - 1; at >= corners; at-- {
			out := taken[at]
			if slices.ContainsFunc(kinds[out], needed) {
				continue
			}
			taken = append(slices.Delete(taken, at, at+1), i)
			for _, kind := range kinds[out] {
				counts[kind]--
			}
			for _, kind := range kinds[i] {
				counts[kind]++
			}
			break
		}
	}
	return taken
}

// HeldOut are n other shapes of the same extents, or all that there are.
func (s Shapes) HeldOut(n int, samples [][]int64, allowed func(shape []int64) bool) [][]int64 {
	d := drawing{Shapes: s, most: n, wanted: n, allowed: func(shape []int64) bool { return !has(samples, shape) && allowed(shape) }}
	d.draw(heldOutFrom)
	return d.drawn
}

func has(shapes [][]int64, one []int64) bool {
	return slices.ContainsFunc(shapes, func(s []int64) bool { return slices.Equal(s, one) })
}

// drawing is shapes being drawn.
type drawing struct {
	Shapes
	allowed func(shape []int64) bool
	most    int
	wanted  int // of those; the others are looked at
	drawn   [][]int64
}

func (d *drawing) take(shape []int64) {
	if len(d.drawn) < d.most && !has(d.drawn, shape) && d.allowed(shape) {
		d.drawn = append(d.drawn, shape)
	}
}

func (d *drawing) draw(from int) {
	if d.few() {
		d.all()
		return
	}
	for i := range tries * d.wanted {
		if len(d.drawn) == d.most {
			break
		}
		shape, varying := make([]int64, len(d.Shapes)), 0
		for at, e := range d.Shapes {
			shape[at] = e.Low()
			if !e.Varies() {
				continue
			}
			shape[at] = e.At(halton(from+i, bases[varying%len(bases)]))
			if i%2 == 0 {
				shape[at] = e.Round(shape[at])
			}
			varying++
		}
		d.take(shape)
	}
}

// few tells whether there are hardly more shapes than are wanted, so that each is looked at.
func (d *drawing) few() bool {
	count := 1.0
	for _, e := range d.Shapes {
		count *= float64(e.Count())
	}
	return count <= math.Max(64, 2*float64(d.wanted))
}

// all takes whatever shapes there are, those that are far apart first: every fourth, then
// those between.
func (d *drawing) all() {
	list := [][]int64{{}}
	for _, e := range d.Shapes {
		var longer [][]int64
		for _, head := range list {
			for _, v := range e.Values(int(e.Count())) {
				longer = append(longer, append(slices.Clone(head), v))
			}
		}
		list = longer
	}
	for _, start := range []int{1, 3, 0, 2} {
		for i := start; i < len(list); i += 4 {
			d.take(list[i])
		}
	}
}

// corners are shapes of bounds, the smallest and the largest first.
func (s Shapes) corners(most int) (all [][]int64) {
	varying := 0
	for _, e := range s {
		if e.Varies() {
			varying++
		}
	}
	whole := 1 << min(varying, 16)
	for mask := range whole {
		if mask%2 == 1 { // in pairs of opposites
			mask = whole - 1 - mask/2
		} else {
			mask /= 2
		}
		if len(all) == most {
			break
		}
		shape, at := make([]int64, len(s)), 0
		for i, e := range s {
			shape[i] = e.Low()
			if e.Varies() {
				if mask>>at&1 == 1 {
					shape[i] = e.High()
				}
				at++
			}
		}
		all = append(all, shape)
	}
	return all
}
