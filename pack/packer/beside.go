package packer

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

// GeneralTemplate is the template that WithGeneral adds.
const GeneralTemplate = "general_kernel"

// templatesKey finds the list of templates of an operator's description, and how far it is indented.
var templatesKey = regexp.MustCompile(`(?m)^templates:[ \t]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*([ \t]*)- `)

// WithGeneral is the problem's operator with the general kernel as its first template, so
// that a search verifies and times it as the untuned default. Its sizes lie in constant
// memory, so that the compiler knows no more of them than in a pack. why says why there is no such kernel.
func WithGeneral(p *operator.Problem) (o *operator.Operator, why string, err error) {
	element, why := generalType(p)
	if why != "" {
		return nil, why, nil
	}
	description, text := path.Base(p.Operator.File), p.Operator.Description()
	at := templatesKey.FindStringSubmatchIndex(text)
	if _, taken := p.Operator.Template(GeneralTemplate); at == nil || taken {
		return nil, "its " + description + " has no plain list of templates", nil
	}
	kernel, indent := generalOf(p, element), text[at[2]:at[3]]
	o, err = p.Operator.With(map[string]string{
		description:             text[:at[2]] + indent + string(write("general.yaml.tmpl", kernel)) + text[at[2]:],
		GeneralTemplate + ".cu": string(write("general.cu.tmpl", kernel)),
	})
	if err != nil {
		return nil, "", fmt.Errorf("the general kernel of %s as a template: %w", p.Operator.Name, err)
	}
	return o.AsNamed(p.Operator.Named), "", nil
}

// generalKernel is the general kernel of a problem, as its templates see it.
type generalKernel struct {
	Name, Operator, Call, File, Members, Elements string
	Kind                                          operator.Type
	Values, Taken, Derived                        []string
}

// generalOf describes the kernel. Derived are the elements of the output.
func generalOf(p *operator.Problem, kind operator.Type) generalKernel {
	o := p.Operator
	_, sizes := general(p, "")
	_, written := cudasource.Elements(p)
	spelled := cudasource.Taken(p)
	left := spelled
	k := generalKernel{
		Name: GeneralTemplate, Operator: o.Name, Call: cudasource.GeneralCall(p, "general_sizes"), File: path.Base(o.PyTorch.General.File), Kind: kind,
		Members:  cudasource.Members(strings.Join(cudasource.Sizes(p), ", "), cudasource.Reals(o)),
		Elements: o.Macros.Macro("general_elements"), Values: lists.Of(sizes, o.Macros.Macro),
	}
	for i, a := range p.Arguments {
		switch at := len(spelled) - len(left); {
		case a.Role == operator.Scalar:
			k.Taken = append(k.Taken, fmt.Sprintf("%s scalar%d", a.Type.CUDA(), i))
		case a.Name == p.Output().Name:
			k.Taken = append(k.Taken, written+"* __restrict__ written")
			k.Derived = append(k.Derived, "general_elements: "+quote.YAMLString(product(o.Arguments[i])))
		case a.Role == operator.Workspace && a.Owner == "":
			k.Taken = append(k.Taken, fmt.Sprintf("void* unused%d", i))
		case a.Role.Filled() || a.Role == operator.Output:
			k.Taken = append(k.Taken, fmt.Sprintf("%s* __restrict__ t%d", left[0], at))
			left = left[1:]
		}
	}
	return k
}

// product is the formula of how many elements a tensor has.
func product(a operator.ArgumentSpec) string {
	factors := lists.Of(a.Shape, func(f operator.Formula) string { return " * (" + f.Code().String() + ")" })
	return "1" + strings.Join(factors, "")
}
