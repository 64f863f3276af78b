package pytorch

import (
	"fmt"
	"regexp"

	"autotune/tuner/operator"
)

// element is the type of all of a module's tensors: f32, or what a parameter of the
// operator's names.
type element struct {
	Type      operator.Type
	Torch     string // PyTorch's name for it
	Scalar    string // in C++
	Cast      string // the method that gives a tensor of it
	Parameter string // that names it; "": none does
}

// moduleTypes are those that a module's tensors may have.
var moduleTypes = []element{
	{Type: operator.F32, Torch: "float32", Scalar: "at::kFloat", Cast: ".float()"},
	{Type: operator.BF16, Torch: "bfloat16", Scalar: "at::kBFloat16", Cast: ".bfloat16()"},
	{Type: operator.F16, Torch: "float16", Scalar: "at::kHalf", Cast: ".half()"},
}

// elementOf is the type of a problem's tensors, if a module can have it.
func elementOf(p *operator.Problem) (element, error) {
	parameter, named := "", operator.F32
	for _, a := range p.Operator.Arguments {
		if a.TypeBy != nil {
			parameter, named = a.TypeBy.Name, operator.Type(p.Values[a.TypeBy.Name].String())
			break
		}
	}
	for _, e := range moduleTypes {
		if e.Type == named {
			e.Parameter = parameter
			return e, nil
		}
	}
	return element{}, fmt.Errorf("`%s` is %s; a module's tensors are of f32, bf16 or f16", parameter, named)
}

// has tells whether a tensor is of the type.
func (e element) has(a operator.ArgumentSpec) bool {
	if a.TypeBy != nil {
		return a.TypeBy.Name == e.Parameter
	}
	return e.Parameter == "" && a.Type == e.Type
}

// taken says in words what tensors a module of the type takes.
func (e element) taken() string {
	if e.Parameter == "" {
		return "tensors of " + string(e.Type)
	}
	return fmt.Sprintf("tensors of the type that `%s` names", e.Parameter)
}

// cuda is what the general kernel calls it; Element is element.cuh's.
func (e element) cuda() string {
	if e.Parameter == "" {
		return "float"
	}
	return "Element"
}

// macros tell the general kernel which type Element is.
func (e element) macros(o *operator.Operator) []operator.Macro {
	if e.Parameter == "" {
		return nil
	}
	return []operator.Macro{{Name: o.MacroName(e.Parameter), Value: string(e.Type)}}
}

// python gives the type to formulas that name its parameter, as a line of the function they are in.
func (e element) python(formulas string) []string {
	if e.Parameter == "" || !regexp.MustCompile(`\b`+e.Parameter+`\b`).MatchString(formulas) {
		return nil
	}
	return []string{e.Parameter + " = TYPE"}
}
