package family

import (
	"math"
	"slices"

	"autotune/internal/lists"
)

// bases are of Halton's sequence, one for each dimension that varies. The sequence leaves no gaps and needs no seed, so
// the same shapes are drawn each time. None is 2, since every other element is rounded.
var bases = []int{3, 5, 7, 11, 13, 17, 19, 23}

func halton(index, base int) (u float64) {
	for f := 1 / float64(base); index > 0; index, f = index/base, f/float64(base) {
		u += f * float64(index%base)
	}
	return u
}

// Samples are n shapes, or all if there are fewer: corners first, then shapes spread over the extents by their
// logarithms. Every other one has round dimensions, as shapes in use often have. kindsOf names the kinds of a shape; a
// shape without any is not taken. Each kind that was seen has a sample or two, if there is room.
func (s Shapes) Samples(n int, kindsOf func(shape []int64) []string) [][]int64 {
	var kinds [][]string // of the drawn shapes
	d := drawing{Shapes: s, most: policy.drawn * n, wanted: n, allowed: func(shape []int64) bool {
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

// balanced picks n of the drawn shapes: the corners, which come first, then shapes of kinds that lack their share, then
// the first of the others.
func balanced(kinds [][]string, n, corners int) (taken []int) {
	counts := map[string]int{}
	for _, of := range kinds {
		for _, kind := range of {
			counts[kind] = 0
		}
	}
	share := max(1, min(policy.leastOfKind, n/max(1, len(counts))))
	lacks := func(kind string) bool { return counts[kind] < share }
	for _, others := range []bool{false, true} {
		for i, of := range kinds {
			wanted := others || i < corners || slices.ContainsFunc(of, lacks)
			if !wanted || len(taken) == n || slices.Contains(taken, i) {
				continue
			}
			taken = append(taken, i)
			for _, kind := range of {
				counts[kind]++
			}
		}
	}
	slices.Sort(taken)
	return taken
}

// HeldOut are n other shapes of the same extents, or all that there are.
func (s Shapes) HeldOut(n int, samples [][]int64, allowed func(shape []int64) bool) [][]int64 {
	other := func(shape []int64) bool { return !has(samples, shape) && allowed(shape) }
	d := drawing{Shapes: s, most: n, wanted: n, allowed: other}
	d.draw(policy.heldOutFrom)
	return d.drawn
}

func has(shapes [][]int64, one []int64) bool {
	return slices.ContainsFunc(shapes, func(s []int64) bool { return slices.Equal(s, one) })
}

type drawing struct {
	Shapes
	allowed func(shape []int64) bool
	most    int
	wanted  int // of those; the others show which kinds there are
	drawn   [][]int64
}

func (d *drawing) take(shape []int64) {
	if len(d.drawn) < d.most && !has(d.drawn, shape) && d.allowed(shape) {
		d.drawn = append(d.drawn, shape)
	}
}

func (d *drawing) draw(from int) {
	count := 1.0
	for _, e := range d.Shapes {
		count *= float64(e.Count())
	}
	if count <= math.Max(64, 2*float64(d.wanted)) {
		d.all()
		return
	}
	for i := range policy.tries * d.wanted {
		if len(d.drawn) == d.most {
			break
		}
		varying := 0
		d.take(lists.Of(d.Shapes, func(e Extent) int64 {
			if !e.Varies() {
				return e.Low()
			}
			v := e.At(halton(from+i, bases[varying%len(bases)]))
			if varying++; i%2 == 0 {
				v = e.Round(v)
			}
			return v
		}))
	}
}

// all takes all shapes that there are. Those that are far apart come first: every fourth, then those between.
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

// corners are shapes of bounds, in pairs of opposites: the smallest and the largest first.
func (s Shapes) corners(most int) (all [][]int64) {
	varying := len(lists.Where(s, Extent.Varies))
	for i := range min(most, 1<<min(varying, 16)) {
		bits := i / 2
		if i%2 == 1 {
			bits = ^bits
		}
		all = append(all, lists.Of(s, func(e Extent) int64 {
			if !e.Varies() {
				return e.Low()
			}
			high := bits&1 == 1
			if bits >>= 1; high {
				return e.High()
			}
			return e.Low()
		}))
	}
	return all
}
