package verify

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"autotune/internal/output"
	"autotune/tuner/device"
	"autotune/tuner/operator"
)

// What a verdict says in words, and the words of memory that it is made from.

// outcome is what comparing one output with the reference found: the words of
// struct Outcome in the device's common.cuh.
type outcome struct {
	Mismatches   int64
	First        int64 // index of the first mismatch
	Unwritten    int64
	NotFinite    int64
	LargestError float64 // among finite differences
	ReferenceSum uint64
	OutputSum    uint64
}

func outcomeFrom(a operator.Argument, words []uint64) outcome {
	words = words[:OutcomeWords]
	largest := math.Float64frombits(words[4])
	if a.Type == operator.F32 {
		largest = float64(math.Float32frombits(uint32(words[4])))
	}
	return outcome{
		Mismatches:   int64(words[0]),
		First:        int64(^words[1]),
		Unwritten:    int64(words[2]),
		NotFinite:    int64(words[3]),
		LargestError: largest,
		ReferenceSum: words[5],
		OutputSum:    words[6],
	}
}

// mismatchMessage describes a wrong output; got and want are its first wrong
// element and the reference's.
func mismatchMessage(a operator.Argument, o outcome, got, want string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %s of %s %s from the reference", o.Mismatches, output.Count(a.Elements, "element"), a.Name, verb(o.Mismatches, "differs", "differ"))
	largest := strconv.FormatFloat(o.LargestError, 'f', 0, 64)
	if a.Type.Kind() == operator.Floating {
		largest = fmt.Sprintf("%.3g", o.LargestError)
		if o.Unwritten > 0 {
			fmt.Fprintf(&b, ", %d %s never written", o.Unwritten, verb(o.Unwritten, "was", "were"))
		}
	} else if o.Unwritten > 0 { // an integer may be written that was there before
		fmt.Fprintf(&b, ", %d %s what was there before", o.Unwritten, verb(o.Unwritten, "is", "are"))
	}
	if other := o.NotFinite - o.Unwritten; other > 0 {
		fmt.Fprintf(&b, ", %d %s NaN or infinite where the other is not", other, verb(other, "is", "are"))
	}
	fmt.Fprintf(&b, "; the first at %v: %s instead of %s (largest error %s, allowed %g + %g*|reference|)",
		device.Coordinates(o.First, a.Shape), got, want, largest, a.ATol, a.RTol)
	return b.String()
}

// verb is the form that goes with so many.
func verb(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// zoneMessage names the guard zones in which a variant wrote: zone 2i lies
// before the tensor i of those that have memory, zone 2i+1 after it.
func zoneMessage(hits []uint64, tensors []operator.Argument) string {
	var places []string
	for zone, count := range hits[1:] {
		if count == 0 {
			continue
		}
		side := "before"
		if zone%2 == 1 {
			side = "after"
		}
		places = append(places, fmt.Sprintf("%s %s %s", output.Count(count, "word"), side, tensors[zone/2].Name))
	}
	return "it wrote outside its tensors: " + strings.Join(places, ", ")
}
