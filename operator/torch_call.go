package operator

import (
	"maps"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// TorchProblem is a problem as a call of a function of PyTorch's: arguments by PyTorch's names.
type TorchProblem struct {
	Function string
	Tensors  map[string]Argument
	Values   map[string][]expr.Value // of a parameter's components; one: it is no list
	Shapes   map[string][]int64      // sizes of a tensor's last dimensions
	view     bool                    // whether a tensor is a transposed one
}

// Torch are PyTorch's functions that compute the problem, as op.yaml names them. Those that take
// tensors as they lie in memory come before others. PyTorch may lack the one with the operator's
// own name.
func (p *Problem) Torch() (all []TorchProblem) {
	if p.Operator.PyTorch == nil {
		return nil
	}
	for _, c := range p.Operator.PyTorch.Calls {
		if made, computes := p.torch(c); computes {
			all = append(all, made)
		}
	}
	views := lists.Where(all, func(t TorchProblem) bool { return t.view })
	return append(lists.Where(all, func(t TorchProblem) bool { return !t.view }), views...)
}

// torch is the call of a function, if that computes the problem.
func (p *Problem) torch(c TorchCall) (TorchProblem, bool) {
	made := TorchProblem{Function: c.Name, Tensors: map[string]Argument{}, Values: map[string][]expr.Value{}, Shapes: map[string][]int64{}}
	given, flat := map[string]bool{}, map[string]Argument{}
	for _, a := range c.Arguments {
		given[a.Name] = true
	}
	for _, a := range c.Arguments {
		if at := slices.IndexFunc(p.Arguments, func(t Argument) bool { return t.Name == a.Name }); at >= 0 {
			t, view := p.transposed(p.Arguments[at], given)
			made.view = made.view || view
			if a.Rows && slices.ContainsFunc(t.Shape[:len(t.Shape)-2], func(extent int64) bool { return extent != 1 }) {
				return TorchProblem{}, false
			}
			if a.Over != "" { // the last of two dimensions
				if len(t.Shape) != 3 || t.Shape[2] != 1 {
					return TorchProblem{}, false
				}
				t.Shape = t.Shape[:2]
				made.Shapes[a.Over] = t.Shape[1:]
			}
			if t.Elements > 0 {
				if a.Torch == "" { // `bias is None`
					return TorchProblem{}, false
				}
				made.Tensors[a.Torch] = t
				if a.Flat {
					flat[a.Torch] = t
				}
			}
			if a.Along != "" { // before it and behind it lies one dimension each
				made.Values[a.Along] = []expr.Value{expr.Int(1)}
			}
			continue
		}
		values := p.component(a.Name)
		switch {
		case a.Torch == "": // the function means it
			spec, meant := p.Operator.parameter(a.Name), a.Default
			if other := p.component(a.Default); spec != nil && other != nil { // as `groups is c`
				meant = spec.format(other)
			}
			if spec == nil {
				break
			}
			is := spec.format(values)
			switch {
			case a.By != "" && strings.EqualFold(is, a.Other):
				if made.Values[a.By] == nil {
					made.Values[a.By] = []expr.Value{expr.String("none")}
				}
			case !strings.EqualFold(is, meant):
				return TorchProblem{}, false
			case a.By != "":
				made.Values[a.By] = []expr.Value{expr.String(a.Word)}
			}
		case made.Shapes[a.Torch] != nil: // told by a tensor
		case values == nil && p.component(a.Default) != nil: // PyTorch's own argument, as groups=c
			made.Values[a.Torch] = p.component(a.Default)
		case slices.ContainsFunc(values, func(v expr.Value) bool { return !strings.EqualFold(v.String(), a.Default) }):
			made.Values[a.Torch] = values
		}
	}
	for _, s := range p.Operator.Parameters {
		if !given[s.Name] && !p.ofTensors(s, given) && !(&binder{p: p, values: p.Values}).isDefault(&s, p.component(s.Name)) {
			return TorchProblem{}, false
		}
	}
	dropLast(flat)
	maps.Copy(made.Tensors, flat)
	return made, true
}

// dropLast takes the last dimension from tensors that all have one of size 1 there. PyTorch may
// have a slower kernel for it, as for cross_entropy of images with one pixel.
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

// component are the values of a parameter's components, or of a dimension; nil: there is none.
func (p *Problem) component(name string) []expr.Value {
	if spec := p.Operator.parameter(name); spec != nil {
		return lists.Of(spec.Names, func(component string) expr.Value { return p.Values[component] })
	}
	if v, known := p.Values[name]; known {
		return []expr.Value{v}
	}
	return nil
}
