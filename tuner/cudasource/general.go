package cudasource

import (
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space/expr"
)

// Determining returns the names of the values that determine a problem of the operator: its dimensions, then the
// components of its parameters.
func Determining(o *operator.Operator) []string {
	names := slices.Clone(o.Shape)
	for _, s := range o.Parameters {
		names = append(names, s.Names...)
	}
	return names
}

// Sizes returns the names of the integer and boolean values that a general kernel gets: first the values that determine
// the problem, then values that are derived from them.
func Sizes(p *operator.Problem) []string {
	names := Determining(p.Operator)
	names = append(names, lists.Of(p.Operator.Derived, func(d operator.Definition) string { return d.Name })...)
	return slices.DeleteFunc(names, func(name string) bool {
		kind := p.Values[name].Kind()
		return kind != expr.KindInt && kind != expr.KindBool
	})
}

// Reals returns the names of an operator's floating-point parameters, which general kernels get as doubles after the
// sizes.
func Reals(o *operator.Operator) (names []string) {
	for _, s := range o.Parameters {
		if s.Type == operator.FloatParameter {
			names = append(names, s.Names...)
		}
	}
	return names
}

// Elements returns the names that a general kernel uses for the type of the elements that it reads and the type of
// those that it writes.
func Elements(p *operator.Problem) (read, written string) {
	read = "float"
	if p.Operator.TypeParameter() != "" {
		read = "Element"
	}
	if p.Output().Type == operator.I64 {
		return read, "long long"
	}
	return read, read
}

// Taken returns the C++ types of the tensors that a general kernel takes as arguments: all tensors of the problem
// except the first output, which the kernel's function returns.
func Taken(p *operator.Problem) (taken []string) {
	element, _ := Elements(p)
	first := slices.IndexFunc(p.Arguments, func(a operator.Argument) bool { return a.Role == operator.Output })
	for i, a := range p.Arguments {
		if a.Owner != "" || i == first || !a.Role.Filled() && a.Role != operator.Output {
			continue
		}
		spelled := element
		if spec := p.Operator.Arguments[i]; i >= len(p.Arguments)-len(p.Operator.Epilogue()) {
			spelled = string(a.Type) // the name in element.cuh
		} else if spec.TypeBy == "" && (element != "float" || spec.Type != operator.F32) {
			spelled = spec.Type.CUDA()
		}
		if !a.Role.Written() {
			spelled = "const " + spelled
		}
		taken = append(taken, spelled)
	}
	return taken
}

// GeneralMacros returns the macros of a general kernel. The macro SIZES declares the members of struct Sizes: the
// integer sizes, then the floating-point parameters.
func GeneralMacros(p *operator.Problem) []operator.Macro {
	sizes := "long long " + strings.Join(Sizes(p), ", ")
	if reals := Reals(p.Operator); len(reals) > 0 {
		sizes += "; double " + strings.Join(reals, ", ")
	}
	macros := append(p.MathMacros(), operator.Macro{Name: "SIZES", Value: sizes})
	if by := p.Operator.TypeParameter(); by != "" {
		macros = append(macros, operator.Macro{Name: p.Operator.Macros.Macro(by), Value: p.Values[by].String()})
	}
	macros = append(macros, p.ExpressionMacros()...)
	if p.Output().Type == operator.I64 {
		macros = append(macros, operator.Macro{Name: "INDICES", Value: "1"})
	}
	return macros
}

// EveryElement returns a kernel that calls the problem's general function for every element of the output. The kernel's
// input tensors are called t0, t1 and so on. Linkage is the text `extern "C" `, or empty for a kernel with C++ linkage.
func EveryElement(p *operator.Problem, linkage, entry string) string {
	_, written := Elements(p)
	var declared string
	var passed []string
	for i, element := range Taken(p) {
		declared += fmt.Sprintf("%s* __restrict__ t%d, ", element, i)
		passed = append(passed, fmt.Sprintf("t%d", i))
	}
	passed = slices.Insert(passed, len(passed)-len(p.Operator.Epilogue()), "sizes", "i") // epilogue tensors come last
	return fmt.Sprintf(`
%s__global__ void %s(%s%s* __restrict__ written,
                              const Sizes sizes, long long elements) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += step)
        written[i] = %s(%s);
}
`, linkage, entry, declared, written, p.Operator.PyTorch.Function, strings.Join(passed, ", "))
}
