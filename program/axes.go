package program

import (
	"fmt"
	"slices"

	"autotune/operator"
)

// covered are the axes of an output that a tensor has, which is broadcast to a view of the output. Only axes with more
// than one element count. The error says why no set of axes is the tensor.
//
// Shape and axes have the same elements in the same order, so both fall into groups of dimensions with as many elements
// each. A tensor has all of a group, or nothing.
func covered(tensor, view, axes []int64) ([]int, error) {
	if len(tensor) > len(view) {
		return nil, fmt.Errorf("a tensor %v is larger than %v", tensor, view)
	}
	tensor = append(slices.Repeat([]int64{1}, len(view)-len(tensor)), tensor...)
	var all []int
	for i, k := 0, 0; i < len(view) || k < len(axes); {
		firstI, firstK := i, k
		ofView, ofAxes := int64(1), int64(1)
		for started := false; !started || ofView != ofAxes; started = true {
			switch {
			case i < len(view) && (ofView <= ofAxes || k == len(axes)):
				ofView *= view[i]
				i++
			case k < len(axes):
				ofAxes *= axes[k]
				k++
			default:
				return nil, fmt.Errorf("%v and %v have not the same elements", view, axes)
			}
		}
		has, lacks := false, false
		for j := firstI; j < i; j++ {
			switch {
			case tensor[j] != 1 && tensor[j] != view[j]:
				return nil, fmt.Errorf("a tensor %v is not broadcast to %v", tensor, view)
			case view[j] > 1 && tensor[j] > 1:
				has = true
			case view[j] > 1:
				lacks = true
			}
		}
		if has && lacks {
			return nil, fmt.Errorf("a tensor %v has a part of an axis of %v", tensor, axes)
		}
		for axis := firstK; has && axis < k; axis++ {
			if axes[axis] > 1 {
				all = append(all, axis)
			}
		}
	}
	return all, nil
}

// bracketsOf are the dimensions that an epilogue names a tensor by. Where it has one of an image's it must have all, of
// which others are of size 1 then.
func bracketsOf(s operator.ParameterSpec, covered []int, axes []int64) (names []string) {
	full := true
	for axis, n := range axes {
		full = full && (n == 1 || slices.Contains(covered, axis))
	}
	image := s.Apart > 0 && slices.ContainsFunc(covered, func(axis int) bool { return axis >= s.Apart })
	for axis, name := range s.Axes {
		own := slices.Contains(covered, axis)
		if own || axes[axis] == 1 && (full && len(covered) > 0 || image && axis >= s.Apart) {
			names = append(names, name)
		}
	}
	return names
}

// threefold are the sizes of a shape before, along and behind the dimensions that a tensor has. The tensor is broadcast
// to the shape.
func threefold(tensor, shape []int64) ([]int64, error) {
	sizes, part := []int64{1, 1, 1}, 0
	for i, n := range shape {
		own := int64(1)
		if at := i - len(shape) + len(tensor); at >= 0 {
			own = tensor[at]
		}
		switch has := own > 1; {
		case own != 1 && own != n || len(tensor) > len(shape):
			return nil, fmt.Errorf("a tensor %v is not broadcast to %v", tensor, shape)
		case n > 1 && has && part == 2:
			return nil, fmt.Errorf("a tensor %v has dimensions of %v that are no neighbours", tensor, shape)
		case n > 1 && has:
			part = 1
		case n > 1 && part == 1:
			part = 2
		}
		sizes[part] *= n
	}
	return sizes, nil
}
