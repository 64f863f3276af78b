package operator

import (
	"maps"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// TorchProblem is a problem as a call of a PyTorch function, with arguments by PyTorch's names.
type TorchProblem struct {
	Function string
	Tensors  map[string]Argument
	Values   map[string][]expr.Value // of a parameter's components; one: it is no list
	Shapes   map[string][]int64      // the sizes of a tensor's last dimensions
	view     bool                    // a tensor is transposed
}

// Torch returns the calls of PyTorch's functions that compute the problem, as op.yaml names them. In the result of
// Torch, calls without a transposed view of a tensor come first. PyTorch may lack a function with the operator's name.
func (p *Problem) Torch() (all []TorchProblem) {
	if p.Operator.PyTorch == nil {
		return nil
	}
	for _, c := range p.Operator.PyTorch.Calls {
		if made, computes := torchCall(p, c); computes {
			all = append(all, made)
		}
	}
	views := lists.Where(all, func(t TorchProblem) bool { return t.view })
	return append(lists.Where(all, func(t TorchProblem) bool { return !t.view }), views...)
}

func torchCall(p *Problem, c TorchCall) (TorchProblem, bool) {
	t := torchCalling{problem: p, given: map[string]bool{}, flat: map[string]Argument{}, made: TorchProblem{
		Function: c.Function, Tensors: map[string]Argument{}, Values: map[string][]expr.Value{}, Shapes: map[string][]int64{},
	}}
	for _, a := range c.Arguments {
		t.given[a.Is] = true
		for _, name := range a.sets() {
			t.given[name] = true
		}
	}
	for name := range c.Means {
		t.given[name] = true
	}
	for _, a := range c.Arguments {
		if at := slices.IndexFunc(p.Arguments, func(t Argument) bool { return t.Name == a.Is }); at >= 0 {
			if !t.tensor(a, p.Arguments[at]) {
				return TorchProblem{}, false
			}
		} else if !t.value(a) {
			return TorchProblem{}, false
		}
	}
	for name, value := range c.Means {
		if !hasValue(p, name, value) {
			return TorchProblem{}, false
		}
	}
	b := &binder{p: p, values: p.Values}
	for _, s := range p.Operator.Parameters {
		if !t.given[s.Name] && !toldByTensors(p, s, t.given) && !b.isDefault(&s, componentsOf(p, s.Name)) {
			return TorchProblem{}, false
		}
	}
	dropLast(t.flat)
	maps.Copy(t.made.Tensors, t.flat)
	return t.made, true
}

// torchCalling is the state while a PyTorch call for a problem is built.
type torchCalling struct {
	problem *Problem
	made    TorchProblem
	given   map[string]bool     // tensors and parameters that the function is given or means
	flat    map[string]Argument // tensors for which only the number of elements matters
}

func (c *torchCalling) tensor(a TorchArgument, t Argument) bool {
	t, view := transposedView(c.problem, t, c.given)
	c.made.view = c.made.view || view
	switch a.Fold {
	case FoldRows:
		if slices.ContainsFunc(t.Shape[:len(t.Shape)-2], func(extent int64) bool { return extent != 1 }) {
			return false
		}
	case FoldOver: // becomes the last of two dimensions
		if len(t.Shape) != 3 || t.Shape[2] != 1 {
			return false
		}
		t.Shape = t.Shape[:2]
		c.made.Shapes[a.By] = t.Shape[1:]
	case FoldAlong: // there is one dimension before and one behind
		c.made.Values[a.By] = []expr.Value{expr.Int(1)}
	case FoldFlat:
		if t.Elements > 0 {
			c.flat[a.Name] = t
		}
	}
	if t.Elements > 0 {
		c.made.Tensors[a.Name] = t
	}
	return true
}

// value adds an argument that is not a tensor to the call, unless the argument has its default value. The result is
// false if no word that PyTorch accepts for the argument corresponds to the problem's parameters.
func (c *torchCalling) value(a TorchArgument) bool {
	values, same := componentsOf(c.problem, a.Is), componentsOf(c.problem, a.Same)
	switch {
	case a.Words != nil:
		words := slices.Sorted(maps.Keys(a.Words))
		at := slices.IndexFunc(words, func(word string) bool {
			return !slices.ContainsFunc(a.sets(), func(name string) bool { return !hasValue(c.problem, name, a.meaning(word, name)) })
		})
		if at < 0 {
			return false
		}
		c.made.Values[a.Name] = []expr.Value{expr.String(words[at])}
	case c.made.Shapes[a.Name] != nil: // a tensor has set it
	case values == nil && same != nil: // PyTorch's own argument, such as groups in a depthwise convolution
		c.made.Values[a.Name] = same
	case slices.ContainsFunc(values, func(v expr.Value) bool { return !strings.EqualFold(v.String(), string(a.Default)) }):
		c.made.Values[a.Name] = values
	}
	return true
}

// hasValue tells whether a parameter has the given value, which may be the name of a dimension. If name is the name of
// a tensor, hasValue tells whether the problem omits the tensor.
func hasValue(p *Problem, name string, value TorchValue) bool {
	spec := p.Operator.parameter(name)
	if spec == nil {
		return !slices.ContainsFunc(p.Arguments, func(t Argument) bool { return t.Name == name && t.Elements > 0 })
	}
	wanted := string(value)
	if dimension := componentsOf(p, wanted); dimension != nil {
		wanted = spec.format(dimension)
	}
	return strings.EqualFold(spec.format(componentsOf(p, name)), wanted)
}

// dropLast removes the last dimension if it has size 1 in all tensors. PyTorch may have a slower kernel for tensors
// with a last dimension of 1, as for cross_entropy of images with one pixel.
func dropLast(tensors map[string]Argument) {
	for _, t := range tensors {
		if last := len(t.Shape) - 1; last < 1 || t.Shape[last] != 1 {
			return
		}
	}
	for name, t := range tensors {
		t.Shape = t.Shape[:len(t.Shape)-1]
		tensors[name] = t
	}
}

// componentsOf returns the values of a parameter's components or of a dimension, or nil if no parameter or dimension
// has the name.
func componentsOf(p *Problem, name string) []expr.Value {
	if spec := p.Operator.parameter(name); spec != nil {
		return lists.Of(spec.Names, func(component string) expr.Value { return p.Values[component] })
	}
	if v, known := p.Values[name]; known {
		return []expr.Value{v}
	}
	return nil
}

// PyTorch's functions take some parameters from the tensors: types, sizes, and the order in memory.

// toldByTensors tells whether the tensors of a PyTorch call determine a parameter that is no argument of the call: by
// their type, their order in memory, a dimension, or the order of two dimensions.
func toldByTensors(p *Problem, s ParameterSpec, given map[string]bool) bool {
	return slices.ContainsFunc(p.Operator.Arguments, func(a ArgumentSpec) bool {
		return a.TypeBy == s.Name || a.OrderBy == s.Name || a.Role.Filled() && given[a.Name] && (a.swappedBy() == s.Name || slices.ContainsFunc(a.Shape, func(f Formula) bool {
			return tells(p, f.Code().Root(), s, given) || strings.HasSuffix(f.Text, " if "+s.Name+" else 0")
		}))
	})
}

// tells tells whether the extent of a tensor's dimension determines a component of a parameter. The extent may be the
// component itself, a derived value equal to the component, or the component divided by a given value.
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

// swappedBy returns the parameter that swaps a tensor's last two dimensions, as in [k if transpose_a else m, m if
// transpose_a else k], or "".
func (a ArgumentSpec) swappedBy() string {
	if len(a.Shape) < 2 {
		return ""
	}
	of := func(f Formula) [3]string { // the condition, and the extents if it is true and if it is false
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

// transposedView returns the transposed view of a tensor if the function has no argument that swaps dimensions.
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
