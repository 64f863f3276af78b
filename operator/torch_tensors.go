package operator

import (
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// PyTorch's functions see some parameters in the tensors themselves: types, sizes, and the order in
// memory.

// toldByTensors tells whether a function that is given other parameters sees this one in the tensors:
// in their type, their order in memory, a dimension, or which of two dimensions comes first.
func toldByTensors(p *Problem, s ParameterSpec, given map[string]bool) bool {
	return slices.ContainsFunc(p.Operator.Arguments, func(a ArgumentSpec) bool {
		return a.TypeBy == s.Name || a.OrderBy == s.Name || a.Role.Filled() && given[a.Name] && (a.swappedBy() == s.Name || slices.ContainsFunc(a.Shape, func(f Formula) bool {
			return tells(p, f.Code().Root(), s, given) || strings.HasSuffix(f.Text, " if "+s.Name+" else 0")
		}))
	})
}

// tells tells whether an extent determines a component of a parameter: it is the component, under
// this or another name, or a quotient of it by a given value.
func tells(p *Problem, extent *expr.Node, s ParameterSpec, given map[string]bool) bool {
	switch extent.Op {
	case expr.OpName:
		if slices.Contains(s.Names, extent.Name) {
			return true
		}
		at := slices.IndexFunc(p.Operator.Derived, func(d Definition) bool { return d.Name == extent.Name })
		return at >= 0 && tells(p, p.Operator.Derived[at].Formula.Code().Root(), s, given)
	case expr.OpFloorDiv:
		by := extent.Args[1]
		return by.Op == expr.OpName && given[by.Name] && tells(p, extent.Args[0], s, given)
	}
	return false
}

// swappedBy is the parameter that swaps a tensor's last two dimensions, as in [k if transpose_a else m, m if transpose_a else
// k]; "": there is none.
func (a ArgumentSpec) swappedBy() string {
	if len(a.Shape) < 2 {
		return ""
	}
	of := func(f Formula) [3]string { // as `by`, and the extents with it and without
		n := f.Code().Root()
		if n.Op != expr.OpIf || slices.ContainsFunc(n.Args, func(arg *expr.Node) bool { return arg.Op != expr.OpName }) {
			return [3]string{}
		}
		return [3]string{n.Args[0].Name, n.Args[1].Name, n.Args[2].Name}
	}
	first, second := of(a.Shape[len(a.Shape)-2]), of(a.Shape[len(a.Shape)-1])
	if first != [3]string{second[0], second[2], second[1]} {
		return ""
	}
	return first[0]
}

// transposedView is the view of a tensor for a function that has no argument for swapped dimensions.
func transposedView(p *Problem, t Argument, given map[string]bool) (_ Argument, view bool) {
	at := slices.IndexFunc(p.Operator.Arguments, func(a ArgumentSpec) bool { return a.Name == t.Name })
	if at < 0 {
		return t, false
	}
	by := p.Operator.Arguments[at].swappedBy()
	if by == "" || given[by] || !p.Values[by].Truth() {
		return t, false
	}
	last := len(t.Shape) - 1
	t.Shape, t.Order = slices.Clone(t.Shape), lists.Of(t.Axes(), func(axis int) int {
		switch axis {
		case last:
			return last - 1
		case last - 1:
			return last
		}
		return axis
	})
	t.Shape[last-1], t.Shape[last] = t.Shape[last], t.Shape[last-1]
	return t, true
}
