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
