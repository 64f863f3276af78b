// Package elements holds what all devices need to know about single elements of tensors: the C++ source elements.h,
// which generates random elements and compares elements, and the numbers that stand for types and distributions in it.
package elements

import (
	_ "embed"
	"fmt"
	"slices"

	"autotune/operator"
)

// Source is the text of elements.h, C++ that must be compiled with the macro ELEMENT defined as the beginning of a
// function's declaration, such as "__device__".
//
//go:embed elements.h
var Source string

func TypeNumber(t operator.Type) int { return slices.Index(operator.Types(), string(t)) }

// distributions lists the distributions that tensors are filled with, in the order of elements.h: first those of a
// search's inputs, then those that only a tensor's own fill uses.
var distributions = []string{
	"uniform01", "normal", "negative", "special", symmetric,
	"uniform", "normal(mean, deviation)", "integers", "constant", "range", "permutation", "sorted",
	"tiny", "large", "repeated",
}

// extreme returns the distribution with which elements.h draws one of operator.Extremes, and its scale for type t.
func extreme(name string, t operator.Type) (distribution string, scale float64) {
	least, ok := map[operator.Type]float64{operator.F16: 0x1p-14, operator.F8E4M3: 0x1p-6, operator.F8E5M2: 0x1p-14}[t]
	if !ok {
		least = 1e-20
	}
	switch name {
	case "zeros":
		return "constant", 0
	case "equal":
		return "constant", 0.75
	case "repeated":
		return name, 0.25
	case "tiny":
		return name, least
	}
	return name, operator.LargeScale(t)
}

// symmetric is the distribution of weights: uniform between minus and plus their scale.
const symmetric = "symmetric"

// Fill describes the values of a tensor before a launch, as arguments of element_draw.
type Fill struct {
	Seed         uint32
	Distribution int
	A, B         float64
}

// Poison returns the bit pattern that an output's elements hold before a launch, as element_poison in elements.h does.
func Poison(t operator.Type) uint64 {
	switch t {
	case operator.F64:
		return 0x7ffbadba7ffbadba
	case operator.F16, operator.BF16:
		return 0x7fad
	case operator.F8E4M3:
		return 0xff
	case operator.F8E5M2:
		return 0x7d
	case operator.Bool:
		return 0xad
	case operator.I64, operator.U64:
		return 0x7adbadbb7adbadbb
	case operator.I16, operator.U16:
		return 0x7bad
	case operator.I8, operator.U8:
		return 0x6b
	}
	return 0x7fbadbad
}

// ownNames maps names of distributions in a tensor's own fill to the names in elements.h, where `normal` means the
// distribution of a search's inputs.
var ownNames = map[string]string{"normal": "normal(mean, deviation)"}

// Integer inputs without a fill of their own lie in a range that is small, so that sums of many elements do not
// overflow.
const (
	leastInteger = -100
	mostInteger  = 100
)

// FillOf returns how an input, weight or inout tensor is filled for the given distribution of a search's inputs.
func FillOf(a operator.Argument, distribution string, seed uint32) (Fill, error) {
	f := Fill{Seed: seed}
	switch {
	case !a.Fill.Drawn():
	case a.Fill != nil:
		name := a.Fill.Distribution
		if own, ok := ownNames[name]; ok {
			name = own
		}
		f.Distribution = slices.Index(distributions, name)
		numbers := append(slices.Clone(a.Fill.Numbers), 0, 0)
		f.A, f.B = numbers[0], numbers[1]
	case a.Role == operator.Weight && a.Type.Kind() == operator.Floating:
		f.Distribution, f.A = slices.Index(distributions, symmetric), a.Scale
	case a.Type == operator.Bool:
		f.Distribution, f.B = slices.Index(distributions, "integers"), 1
	case a.Type.Kind() != operator.Floating:
		f.Distribution, f.B = slices.Index(distributions, "integers"), mostInteger
		if a.Type.Kind() == operator.Signed {
			f.A = leastInteger
		}
	case slices.Contains(operator.Extremes(), distribution):
		name, scale := extreme(distribution, a.Type)
		f.Distribution, f.A = slices.Index(distributions, name), scale
	default:
		f.Distribution = slices.Index(operator.Distributions(), distribution)
		if f.Distribution < 0 {
			return f, fmt.Errorf("unknown input distribution %q; there are %v", distribution, operator.Distributions())
		}
	}
	return f, nil
}

// FillsOf returns the Fill of each argument that is filled. The seed of argument i is the given seed plus i.
func FillsOf(arguments []operator.Argument, distribution string, seed uint32) ([]Fill, error) {
	all := make([]Fill, len(arguments))
	for i, a := range arguments {
		if !a.Role.Filled() {
			continue
		}
		var err error
		if all[i], err = FillOf(a, distribution, seed+uint32(i)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Run is a range of consecutive elements of a tensor that a check changes. The emulator's C++ runtime chooses the
// ranges in its function tensor_change.
type Run struct {
	First, Count int64
	Seed         uint32 // element k is drawn as element k of a tensor of the same size with this seed
}

const (
	changedRuns = 4
	longestRun  = 64 // so that a mean of thousands of elements changes by more than its tolerance
	changedPart = 1024
)

// Changes returns a few ranges of a tensor, chosen by a seed, for a check to change, or none if the tensor's elements
// depend on each other.
func Changes(a operator.Argument, f Fill, seed uint32) []Run {
	if !a.Role.Filled() || a.Elements == 0 || !f.Independent(a) {
		return nil
	}
	count := min(max(a.Elements/changedPart, 1), longestRun)
	var all []Run
	for run := range uint64(changedRuns) {
		s := seed ^ f.Seed
		place := uint64(hash(3*run, s))<<32 | uint64(hash(3*run+1, s))
		all = append(all, Run{int64(place % uint64(a.Elements-count+1)), count, hash(3*run+2, s)})
	}
	return all
}

func hash(i uint64, seed uint32) uint32 {
	x := i*0x9e3779b97f4a7c15 + uint64(seed)*0xd1b54a32d192ed03
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return uint32((x ^ x>>31) >> 32)
}

// Independent reports whether each element of an argument is drawn independently and the elements are not all equal.
func (f Fill) Independent(a operator.Argument) bool {
	switch distributions[f.Distribution] {
	case "constant", "range", "permutation", "sorted":
		return false
	}
	return a.Role.Filled() && a.Fill.Drawn()
}

// Typed reports whether an argument is anything but the usual f32 tensor that is filled from a search's distribution.
func Typed(a operator.Argument) bool {
	return a.Role != operator.Scalar && (a.Type != operator.F32 || a.Fill != nil && a.Fill.Drawn())
}
