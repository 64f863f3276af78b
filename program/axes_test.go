package program

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// places are the elements of a tensor that those of a shape have, which has the tensor broadcast to it: the tensor's
// sizes stand in the shape's dimensions.
func places(tensor, shape []int64) (all []int64) {
	size, _ := elements(shape)
	for at := range size {
		place, step := int64(0), int64(1)
		for i := len(shape) - 1; i >= 0; i-- {
			if tensor[i] > 1 {
				place += at % shape[i] * step
			}
			step, at = step*tensor[i], at/shape[i]
		}
		all = append(all, place)
	}
	return all
}

// only is a shape with the size 1 in the dimensions that a bit mask lacks.
func only(shape []int64, mask int) []int64 {
	shape = slices.Clone(shape)
	for i := range shape {
		if mask>>i&1 == 0 {
			shape[i] = 1
		}
	}
	return shape
}

// split makes a shape of the same elements from factors.
func split(r *rand.Rand, factors []int64) (shape []int64) {
	shape = append(shape, 1)
	for _, n := range factors {
		if r.IntN(2) == 0 {
			shape = append(shape, n)
		} else {
			shape[len(shape)-1] *= n
		}
	}
	return slices.Insert(shape, r.IntN(len(shape)), 1)
}

// A tensor has the axes that are found, and none are found only where no set of axes is the tensor.
func TestCovered(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found, refused := 0, 0
	for range 3000 {
		var factors []int64
		for range r.IntN(5) {
			factors = append(factors, int64(1+r.IntN(3)))
		}
		view, axes := split(r, factors), split(r, factors)
		tensor := only(view, r.IntN(1<<len(view)))
		want := places(tensor, view)
		given := tensor
		for len(given) > 0 && given[0] == 1 && r.IntN(2) == 0 {
			given = given[1:]
		}
		got, err := covered(given, view, axes)
		if err == nil {
			mask := 0
			for _, axis := range got {
				mask |= 1 << axis
			}
			found++
			if !slices.Equal(places(only(axes, mask), axes), want) {
				t.Errorf("%v broadcast to %v: %v of %v", tensor, view, got, axes)
			}
			continue
		}
		refused++
		for mask := range 1 << len(axes) {
			if slices.Equal(places(only(axes, mask), axes), want) {
				t.Errorf("%v broadcast to %v: %v; %b of %v is right", tensor, view, err, mask, axes)
			}
		}
	}
	if found < 500 || refused < 200 {
		t.Errorf("%d found, %d refused", found, refused)
	}
}

func TestThreefold(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		shape := split(r, []int64{2, 3, 2, 2}[:r.IntN(5)])
		tensor := only(shape, r.IntN(1<<len(shape)))
		sizes, err := threefold(tensor, shape)
		if err == nil && !slices.Equal(places([]int64{1, sizes[1], 1}, sizes), places(tensor, shape)) {
			t.Errorf("%v broadcast to %v: %v", tensor, shape, sizes)
		}
		if has := only(shape, 0); err != nil && slices.Equal(tensor, has) {
			t.Errorf("%v broadcast to %v: %v", tensor, shape, err)
		}
	}
	for _, test := range [][]int64{{2, 1, 2}, {3}, {2, 2, 2, 2}} {
		if sizes, err := threefold(test, []int64{2, 2, 2}); err == nil {
			t.Errorf("%v: %v", test, sizes)
		}
	}
}
