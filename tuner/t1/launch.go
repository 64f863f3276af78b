package t1

import (
	"fmt"
	"slices"
	"strings"

	"autotune/space"
	"autotune/tuner/draft"
)

// launch reads block, grid and shared memory, as Kernel Tuner does: the grid is the
// problem's size divided by GridDivX, Y and Z, rounded up; without a ProblemSize it is
// GlobalSize, in blocks or, as OpenCL counts, in threads.
func (r *reader) launch() (err error) {
	t := &r.o.Template
	if t.Block, err = r.axes("LocalSize", "block_size_"); err != nil {
		return err
	}
	if r.sized && !nothing(r.kernel.take("GlobalSize")) {
		r.note("KernelSpecification.GlobalSize is left out: the grid is ProblemSize divided by GridDivX, GridDivY and GridDivZ")
	}
	global, err := r.axes("GlobalSize", "")
	if err != nil {
		return err
	}
	kind := r.kernel.text("GlobalSizeType")
	for i, axis := range axes {
		divisors, err := r.kernel.texts("GridDiv" + strings.ToUpper(axis))
		if err != nil {
			return err
		}
		switch {
		case r.sized:
			if t.Grid[i], err = r.divided(i, divisors); err != nil {
				return err
			}
		case kind == "OpenCL":
			t.Grid[i] = ceilDiv(global[i], t.Block[i])
		default:
			t.Grid[i] = global[i]
		}
	}
	if shared := r.kernel.text("SharedMemory"); shared != "" && shared != "0" {
		if t.Shared, err = r.expression("KernelSpecification.SharedMemory", shared); err != nil {
			return err
		}
	}
	r.implicit()
	return nil
}

// axes reads an object of X, Y and Z. One that is absent is the tunable with the usual
// name, if there is one, else 1.
func (r *reader) axes(key, usual string) (all [3]string, err error) {
	s, err := r.kernel.section(key)
	if err != nil {
		return all, err
	}
	for i, axis := range axes {
		text := s.text(strings.ToUpper(axis))
		switch {
		case text == "" && usual != "" && r.tunable(usual+axis):
			all[i] = usual + axis
		case text == "" || text == usual+axis && !r.tunable(text): // Kernel Tuner's name for an axis that nobody tunes
			all[i] = "1"
		default:
			if all[i], err = r.expression(s.name(strings.ToUpper(axis)), text); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

func (r *reader) tunable(name string) bool {
	return slices.ContainsFunc(r.o.Template.Tunables, func(t space.Tunable) bool { return t.Name == name })
}

// divided is the grid along an axis of the problem.
func (r *reader) divided(axis int, divisors []string) (string, error) {
	extents := r.dims
	if r.extents != nil {
		extents = r.extents
	}
	if axis >= len(extents) {
		return "1", nil
	}
	extent, err := r.expression("KernelSpecification.ProblemSize", extents[axis])
	if err != nil {
		return "", err
	}
	if usual := "block_size_" + axes[axis]; divisors == nil && r.tunable(usual) {
		divisors = []string{usual}
	}
	product := make([]string, len(divisors))
	for i, divisor := range divisors {
		text, err := r.expression("KernelSpecification.GridDiv"+strings.ToUpper(axes[axis]), divisor)
		if err != nil {
			return "", err
		}
		if text == "1" && len(divisors) == 1 {
			return extent, nil
		}
		if product[i] = text; !nameForm.MatchString(text) || nameForm.FindString(text) != text {
			product[i] = "(" + text + ")"
		}
	}
	if len(product) == 0 {
		return extent, nil
	}
	return ceilDiv(extent, strings.Join(product, "*")), nil
}

func ceilDiv(a, b string) string {
	if b == "1" {
		return a
	}
	return fmt.Sprintf("ceil_div(%s, %s)", a, b)
}

// implicit defines what Kernel Tuner defines for every kernel, as far as this one
// mentions it: its own name, the extents of block and grid.
func (r *reader) implicit() {
	t := &r.o.Template
	add := func(name, text string) {
		if r.words[name] && !r.tunable(name) {
			t.Derived = append(t.Derived, draft.Definition{Name: name, Text: text})
		}
	}
	add("kernel_tuner", "1")
	for i, axis := range axes {
		add("block_size_"+axis, t.Block[i])
	}
	for i, axis := range axes {
		add("grid_size_"+axis, t.Grid[i])
	}
}
