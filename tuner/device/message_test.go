package device

import (
	"testing"

	"pgregory.net/rapid"
)

func TestCoordinatesInvert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(1, 3000), 1, 4).Draw(t, "shape")
		size := int64(1)
		for _, d := range shape {
			size *= d
		}
		index := rapid.Int64Range(0, size-1).Draw(t, "index")
		back := int64(0)
		for i, c := range Coordinates(index, shape) {
			back = back*shape[i] + c
		}
		if back != index {
			t.Fatalf("Coordinates(%d, %v) lead back to %d", index, shape, back)
		}
	})
}
