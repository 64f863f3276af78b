//go:build cuda

package cudaworker

import (
	"fmt"
	"math"
	"strings"

	"autotune/internal/output"
	"autotune/tuner/device"
	"autotune/tuner/operator"
)

// outcome is what comparing one output with the reference found: the words of
// struct Outcome in kernels.cu.
type outcome struct {
	Mismatches   int64
	First        int64 // index of the first mismatch
	Unwritten    int64
	NotFinite    int64
	LargestError float64 // among finite differences
	ReferenceSum uint64
	OutputSum    uint64
}

const outcomeWords = 7

func outcomeFrom(words []uint64) outcome {
	words = words[:outcomeWords]
	return outcome{
		Mismatches:   int64(words[0]),
		First:        int64(^words[1]),
		Unwritten:    int64(words[2]),
		NotFinite:    int64(words[3]),
		LargestError: float64(math.Float32frombits(uint32(words[4]))),
		ReferenceSum: words[5],
		OutputSum:    words[6],
	}
}

// mismatchMessage describes a wrong output; got and want are its first wrong
// element and the reference's.
func mismatchMessage(t operator.Argument, o outcome, got, want float32, atol, rtol float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %s of %s %s from the reference", o.Mismatches, output.Count(t.Elements, "element"), t.Name, verb(o.Mismatches, "differs", "differ"))
	if o.Unwritten > 0 {
		fmt.Fprintf(&b, ", %d %s never written", o.Unwritten, verb(o.Unwritten, "was", "were"))
	}
	if other := o.NotFinite - o.Unwritten; other > 0 {
		fmt.Fprintf(&b, ", %d %s NaN or infinite where the other is not", other, verb(other, "is", "are"))
	}
	fmt.Fprintf(&b, "; the first at %v: ", device.Coordinates(o.First, t.Shape))
	if o.Unwritten > 0 && math.IsNaN(float64(got)) {
		fmt.Fprintf(&b, "NaN instead of %g", want)
	} else {
		fmt.Fprintf(&b, "%g instead of %g", got, want)
	}
	fmt.Fprintf(&b, " (largest error %.3g, allowed %g + %g*|reference|)", o.LargestError, atol, rtol)
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
