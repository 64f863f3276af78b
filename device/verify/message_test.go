package verify

import (
	"math"
	"testing"

	"autotune/operator"
)

func TestMismatchMessage(t *testing.T) {
	y := operator.Argument{Name: "y", Type: operator.F32, Shape: []int64{2, 3, 4}, Elements: 24, ATol: 1e-4, RTol: 1e-4}
	words := []uint64{3, ^uint64(17), 2, 2, uint64(math.Float32bits(0.5)), 99, 98}
	o := outcomeFrom(y, words)
	if want := (outcome{Mismatches: 3, First: 17, Unwritten: 2, NotFinite: 2, LargestError: 0.5, ReferenceSum: 99, OutputSum: 98}); o != want {
		t.Fatalf("outcomeFrom = %+v, want %+v", o, want)
	}
	got := mismatchMessage(y, o, "NaN", "1.5")
	want := "3 of 24 elements of y differ from the reference, 2 were never written; the first at [1 1 1]: NaN instead of 1.5 (largest error 0.5, allowed 0.0001 + 0.0001*|reference|)"
	if got != want {
		t.Errorf("message\n%s\nwant\n%s", got, want)
	}
}

func TestMismatchMessageOfOne(t *testing.T) {
	y := operator.Argument{Name: "y", Type: operator.F32, Shape: []int64{1}, Elements: 1}
	o := outcome{Mismatches: 1, Unwritten: 1, NotFinite: 2}
	got := mismatchMessage(y, o, "NaN", "1.5")
	want := "1 of 1 element of y differs from the reference, 1 was never written, 1 is NaN or infinite where the other is not; the first at [0]: NaN instead of 1.5 (largest error 0, allowed 0 + 0*|reference|)"
	if got != want {
		t.Errorf("message\n%s\nwant\n%s", got, want)
	}
	if got, want := zoneMessage([]uint64{7, 1}, []operator.Argument{y}), "it wrote outside its tensors: 1 word before y"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Integers are told as integers, whatever they hold.
func TestMismatchMessageOfIntegers(t *testing.T) {
	c := operator.Argument{Name: "c", Type: operator.U64, Shape: []int64{3}, Elements: 3}
	o := outcomeFrom(c, []uint64{2, ^uint64(1), 1, 0, math.Float64bits(1 << 40), 0, 0})
	got := mismatchMessage(c, o, "18446744073709551615", "7")
	want := "2 of 3 elements of c differ from the reference, 1 is what was there before; the first at [1]: 18446744073709551615 instead of 7 (largest error 1099511627776, allowed 0 + 0*|reference|)"
	if got != want {
		t.Errorf("message\n%s\nwant\n%s", got, want)
	}
}

func TestZoneMessage(t *testing.T) {
	got := zoneMessage([]uint64{7, 0, 0, 3, 4}, []operator.Argument{{Name: "x"}, {Name: "y"}})
	if want := "it wrote outside its tensors: 3 words before y, 4 words after y"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
