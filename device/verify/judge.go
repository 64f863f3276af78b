// Package verify holds the plan by which every device verifies a variant. The plan says what the tensors hold, which of
// the operator's own kernels run, what is checked after a launch, how often a check launches, and how many samples are
// timed.
//
// The plan and the verdicts are plain Go values, without access to a device. Each device carries the plan out in its
// own way: the emulator with files and programs, a GPU through its driver.
package verify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"autotune/device"
	"autotune/internal/output"
	"autotune/operator"
)

// A device that keeps a problem's memory between variants checks all of that memory after a launch. Each check adds its
// result to a few words, and only these words are copied from the device.

// Layout says at which indices of the words that a device returns each check accumulates its result.
type Layout struct {
	Arguments []int // by argument: an outcome and a checksum if it is compared, else a checksum
	Apart     int   // the result of the operator's own comparison
	Hits      int   // number of changed words in guard zones: the sum, then each zone's
	Words     int
}

// OutcomeWords is the number of words in which a comparison with the reference returns its result. For an inout
// tensor, the words of the comparison are followed by a checksum of the tensor's copy.
const OutcomeWords = 7

// LayoutOf returns the layout of the checks' results for the given arguments and number of guard zones.
func LayoutOf(arguments []operator.Argument, zones int) Layout {
	var l Layout
	for _, a := range arguments {
		l.Arguments = append(l.Arguments, l.Words)
		switch {
		case !Looked(a):
		case a.Role.Compared():
			l.Words += OutcomeWords + 1
		default:
			l.Words++
		}
	}
	l.Apart = l.Words
	l.Hits = l.Apart + 1
	l.Words = l.Hits + 1 + zones
	return l
}

// Looked reports whether an argument is checked after a launch.
func Looked(a operator.Argument) bool { return a.Elements > 0 && a.Role != operator.Workspace }

type Judge struct {
	Operator   string // its name
	Arguments  []operator.Argument
	Comparison *Comparison
	Layout

	sums []sums // by argument; nil until the right answers are known
}

// sums holds the expected checksums of a tensor; a checksum that the tensor does not have is 0.
type sums struct {
	read      uint64 // of a tensor that a kernel only reads
	reference uint64
	pristine  uint64
}

func (j *Judge) Known() bool { return j.sums != nil }
func (j *Judge) Forget()     { j.sums = nil }

// Learn stores the checksums of the inputs and of the reference's outputs, read from the words of a check. Learn
// returns a *device.ReferenceError if the reference left an output unwritten.
func (j *Judge) Learn(words []uint64) error {
	learned := make([]sums, len(j.Arguments))
	for i, a := range j.Arguments {
		switch found := words[j.Layout.Arguments[i]:]; {
		case !Looked(a):
		case a.Role.Compared():
			o := outcomeFrom(a, found)
			if o.Unwritten > 0 && a.Role == operator.Output {
				return device.Blame(j.Operator, "", "leaves %s", Unwritten(a, o.Unwritten, o.First))
			}
			learned[i] = sums{reference: o.ReferenceSum, pristine: found[OutcomeWords]}
		default:
			learned[i].read = found[0]
		}
	}
	if j.Comparison != nil {
		if err := j.Comparison.AcceptItself(j.apart(words)); err != nil {
			return err
		}
	}
	j.sums = learned
	return nil
}

// leastSquared is the smallest f32 number whose square is a normal f32 number. For tiny inputs, differences smaller
// than leastSquared do not count, since a kernel may square its inputs.
const leastSquared = 0x1p-63

// ToleranceOf returns the absolute tolerance of an output; largest is the largest absolute value in the output. An
// operator states its tolerance for inputs of magnitude 1. The tolerance grows with the outputs if the inputs are
// large, because a small sum or mean of large numbers is as inexact as its terms.
func ToleranceOf(a operator.Argument, distribution string, largest float64) float64 {
	switch {
	case a.Type.Kind() != operator.Floating:
	case distribution == operator.Large:
		if scale := operator.LargeScale(a.Type); largest > math.Sqrt(scale) {
			return a.ATol * max(scale, largest)
		}
		return a.ATol * max(1, largest)
	case distribution == operator.Tiny && a.ATol+a.RTol > 0:
		return max(a.ATol, leastSquared)
	}
	return a.ATol
}

// Largest returns, for each compared argument, the largest finite difference that the result words of a check contain.
func (j *Judge) Largest(words []uint64) []float64 {
	largest := make([]float64, len(j.Arguments))
	for i, a := range j.Arguments {
		if Looked(a) && a.Role.Compared() {
			largest[i] = outcomeFrom(a, words[j.Layout.Arguments[i]:]).LargestError
		}
	}
	return largest
}

// The following phrases begin messages about faults, and say after which launch a fault was found.
const (
	Timed   = "after the timed launches "
	Changed = "after a few of the inputs changed: "
)

// Findings are the faults that the verification of a variant found.
type Findings struct {
	Complaints   []string
	LargestError float64
	// Guards and Inputs say that the variant damaged guard zones or inputs, which must be restored for the next
	// variant.
	Guards, Inputs bool
	// Lost says that the variant wrote so far outside its tensors that no memory can be trusted.
	Lost bool
	Sums []uint64 // of the outputs
}

func (f Findings) Any() bool             { return len(f.Complaints) > 0 }
func (f *Findings) complain(text string) { f.Complaints = append(f.Complaints, text) }

// Element returns one element of an argument as text: the variant's value and the reference's.
type Element func(argument int, element int64) (got, want string, err error)

func (j *Judge) Findings(words []uint64, read Element) (f Findings, err error) {
	for i, a := range j.Arguments {
		switch found := words[j.Layout.Arguments[i]:]; {
		case !Looked(a):
		case a.Role.Compared():
			if err := j.judgeOutput(i, found, read, &f); err != nil {
				return f, err
			}
		case found[0] != j.sums[i].read:
			f.Inputs = true
			f.complain(fmt.Sprintf("it changed %s, which it may only read", a.Name))
		}
	}
	if words[j.Hits] > 0 {
		f.Guards = true
		f.complain(j.Strays(words))
	}
	if j.Comparison != nil {
		if fault := j.Comparison.Accept(j.apart(words)); fault != "" {
			f.complain(fault)
		} else {
			f.LargestError = j.apart(words)
		}
	}
	return f, nil
}

func (j *Judge) judgeOutput(argument int, found []uint64, read Element, f *Findings) error {
	a := j.Arguments[argument]
	o := outcomeFrom(a, found)
	f.Sums = append(f.Sums, o.OutputSum)
	if o.ReferenceSum != j.sums[argument].reference {
		f.Lost = true
		f.complain("it wrote far outside its tensors, into the reference's output")
	}
	if found[OutcomeWords] != j.sums[argument].pristine {
		f.Lost = true
		f.complain("it wrote far outside its tensors, into a copy of " + a.Name)
	}
	if j.Comparison != nil {
		return nil // the operator's own comparison decides
	}
	f.LargestError = max(f.LargestError, o.LargestError)
	if o.Mismatches == 0 {
		return nil
	}
	got, want, err := read(argument, o.First)
	if err == nil {
		f.complain(mismatchMessage(a, o, got, want))
	}
	return err
}

func (j *Judge) apart(words []uint64) float64 { return math.Float64frombits(words[j.Apart]) }

// Strays names the guard zones that were overwritten, or returns "" if none was.
func (j *Judge) Strays(words []uint64) string {
	if words[j.Hits] == 0 {
		return ""
	}
	guarded := slices.DeleteFunc(slices.Clone(j.Arguments), func(a operator.Argument) bool { return a.Elements == 0 })
	return zoneMessage(words[j.Hits:j.Words], guarded)
}

// Unwritten says how many elements of a tensor were never written, and where the first of them is.
func Unwritten(a operator.Argument, count, first int64) string {
	return fmt.Sprintf("%d of %s of %s unwritten, the first at %v", count, output.Count(a.Elements, "element"), a.Name, a.Coordinates(first))
}

// outcome is the result of comparing one output with the reference, with the words of struct Outcome in common.cuh.
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

// Differs returns the message that an output has wrong elements; got is the first wrong element, and want is the
// reference's element.
func Differs(a operator.Argument, wrong, first int64, got, want string) string {
	return fmt.Sprintf("%s differs from the reference in %d of %s, first at %v: %s instead of %s",
		a.Name, wrong, output.Count(a.Elements, "element"), a.Coordinates(first), got, want)
}

func mismatchMessage(a operator.Argument, o outcome, got, want string) string {
	more, largest, unwritten := "", fmt.Sprintf("%.3g", o.LargestError), "never written"
	if a.Type.Kind() != operator.Floating {
		largest, unwritten = fmt.Sprintf("%.0f", o.LargestError), "as before" // an integer may be written that was there
	}
	if o.Unwritten > 0 {
		more = fmt.Sprintf("%d %s, ", o.Unwritten, unwritten)
	}
	if other := o.NotFinite - o.Unwritten; other > 0 {
		more += fmt.Sprintf("%d NaN or infinite where the other is not, ", other)
	}
	return fmt.Sprintf("%s (%slargest error %s, allowed %g + %g*|reference|)",
		Differs(a, o.Mismatches, o.First, got, want), more, largest, a.ATol, a.RTol)
}

// zoneMessage names the guard zones that a variant overwrote. Guard zone 2i lies before, and guard zone 2i+1 after, the
// i-th of the tensors that have memory.
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
