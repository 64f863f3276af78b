// Package elements is what devices share about single elements of tensors: the
// text of elements.h, and the numbers by which it knows types and distributions.
package elements

import (
	_ "embed"
	"slices"

	"autotune/tuner/operator"
)

// Source is elements.h, in C++ that is compiled with ELEMENT as the beginning of a
// function's declaration, as "__device__".
//
//go:embed elements.h
var Source string

// TypeNumber is a type's number there.
func TypeNumber(t operator.Type) int { return slices.Index(operator.Types(), string(t)) }

// distributions that devices fill tensors with, in the order of elements.h: those
// of a search's inputs, then those of the tensors' own.
var distributions = []string{
	"uniform01", "normal", "negative", "special", symmetric,
	"uniform", "normal(mean, deviation)", "integers", "constant", "range", "permutation", "sorted",
}

// symmetric is what weights are filled with: within plus and minus their scale.
const symmetric = "symmetric"

// Fill is what a tensor holds before a launch: the arguments of element_draw.
type Fill struct {
	Seed         uint32
	Distribution int
	A, B         float64
}

// Poison is element_poison there: what an output holds before a launch.
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
