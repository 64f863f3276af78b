package packer

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
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
	files, err := filesOf(p.Operator)
	if err != nil {
		return nil, "", err
	}
	description := path.Base(p.Operator.File)
	text := files[description]
	at := templatesKey.FindStringSubmatchIndex(text)
	if _, taken := p.Operator.Template(GeneralTemplate); at == nil || taken {
		return nil, "its " + description + " has no plain list of templates", nil
	}
	kernel, indent := generalOf(p, element), text[at[2]:at[3]]
	files[description] = text[:at[2]] + indent + string(write("general.yaml.tmpl", kernel)) + text[at[2]:]
	files[GeneralTemplate+".cu"] = string(write("general.cu.tmpl", kernel))
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(f, files[name])
		}
		if err != nil {
			return nil, "", err
		}
	}
	if err := errors.Join(w.SetComment(description), w.Close()); err != nil {
		return nil, "", err
	}
	o, err = operator.LoadBundle(archive.Bytes(), nil)
	if err != nil {
		return nil, "", fmt.Errorf("the general kernel of %s as a template: %w", p.Operator.Name, err)
	}
	return o.AsNamed(p.Operator.Named), "", nil
}

// filesOf are all files that an operator was read from.
func filesOf(o *operator.Operator) (map[string]string, error) {
	bundle, err := o.Bundle()
	if err != nil {
		return nil, err
	}
	r, err := zip.NewReader(bytes.NewReader(bundle), int64(len(bundle)))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, f := range r.File {
		open, err := f.Open()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(open)
		if err != nil {
			return nil, err
		}
		files[f.Name] = string(text)
	}
	return files, nil
}

// generalKernel is the general kernel of a problem, as its templates see it.
type generalKernel struct {
	Name, Operator, Function, File, Members, Elements string
	Kind                                              operator.Type
	Values, Taken, Passed, Derived                    []string
}

// generalOf describes the kernel. Derived are the elements of the output.
func generalOf(p *operator.Problem, kind operator.Type) generalKernel {
	o := p.Operator
	_, sizes := general(p, "")
	_, written := cudasource.Elements(p)
	spelled := cudasource.Taken(p)
	k := generalKernel{
		Name: GeneralTemplate, Operator: o.Name, Function: o.PyTorch.Function, File: path.Base(o.PyTorch.General.File), Kind: kind,
		Members:  cudasource.Members(strings.Join(cudasource.Sizes(p), ", "), cudasource.Reals(o)),
		Elements: o.Macros.Macro("general_elements"), Values: lists.Of(sizes, o.Macros.Macro),
	}
	for i, a := range p.Arguments {
		switch at := len(k.Passed); {
		case a.Role == operator.Scalar:
			k.Taken = append(k.Taken, fmt.Sprintf("%s scalar%d", a.Type.CUDA(), i))
		case a.Name == p.Output().Name:
			k.Taken = append(k.Taken, written+"* __restrict__ written")
			k.Derived = append(k.Derived, "general_elements: "+quote.YAMLString(product(o.Arguments[i])))
		case a.Role == operator.Workspace && a.Owner == "":
			k.Taken = append(k.Taken, fmt.Sprintf("void* unused%d", i))
		case a.Role.Filled() || a.Role == operator.Output:
			k.Taken = append(k.Taken, fmt.Sprintf("%s* __restrict__ t%d", spelled[at], at))
			k.Passed = append(k.Passed, fmt.Sprintf("t%d", at))
		}
	}
	return k
}

// product is the formula of how many elements a tensor has.
func product(a operator.ArgumentSpec) string {
	factors := lists.Of(a.Shape, func(f operator.Formula) string { return " * (" + f.Code().String() + ")" })
	return "1" + strings.Join(factors, "")
}
