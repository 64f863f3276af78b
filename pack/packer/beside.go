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
	name, source := generalTemplate(p, element)
	indent := text[at[2]:at[3]]
	files[description] = text[:at[2]] + indent + name + "\n" + text[at[2]:]
	files[GeneralTemplate+".cu"] = source
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

// generalTemplate is the item of op.yaml, and the file that it names.
func generalTemplate(p *operator.Problem, kind operator.Type) (item, source string) {
	o := p.Operator
	_, sizes := general(p, "")
	values := make([]string, len(sizes))
	for i, name := range sizes {
		values[i] = o.Macros.Macro(name)
	}
	var taken, passed, derived []string // derived are the elements of the output, and of what lies in constant memory
	constants := ""
	spelled := cudasource.Taken(p)
	_, written := cudasource.Elements(p)
	for i, a := range p.Arguments {
		switch at := len(passed); {
		case a.Role == operator.Scalar:
			taken = append(taken, fmt.Sprintf("%s scalar%d", a.Type.CUDA(), i))
		case a.Name == p.Output().Name:
			taken = append(taken, written+"* __restrict__ written")
			derived = append(derived, fmt.Sprintf("general_elements: %s", quote.YAMLString(product(o.Arguments[i]))))
		case a.Symbol != "":
			derived = append(derived, fmt.Sprintf("general_%s: %s", a.Name, quote.YAMLString(product(o.Arguments[i]))))
			count := o.Macros.Macro("general_" + a.Name)
			constants += fmt.Sprintf("__constant__ %s %s[%s > 0 ? %[3]s : 1];\n", strings.TrimPrefix(spelled[at], "const "), a.Symbol, count)
			passed = append(passed, fmt.Sprintf("(%s > 0 ? %s : nullptr)", count, a.Symbol))
		case a.Role == operator.Workspace && a.Owner == "":
			taken = append(taken, fmt.Sprintf("void* unused%d", i))
		case a.Role.Filled() || a.Role == operator.Output:
			taken, passed = append(taken, fmt.Sprintf("%s* __restrict__ t%d", spelled[at], at)), append(passed, fmt.Sprintf("t%d", at))
		}
	}
	item = fmt.Sprintf(`- {name: %s, summary: The general kernel of packs., source: %[1]s.cu, tunables: {threads: [256]}, `+
		`derived: {%s}, default: {threads: 256}, `+
		`launch: {block: [threads, 1, 1], grid: ["min(ceil_div(general_elements, threads), 1048576)", 1, 1], shared: 0}}`, GeneralTemplate, strings.Join(derived, ", "))
	source = fmt.Sprintf(`// The general kernel of packs, for elements of %s.
#define SIZES %s
#include "%s"

__constant__ Sizes general_sizes = {%s};
%s
extern "C" __global__ void %s_%s(%s) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < %s; i += step)
        written[i] = %s(%s, general_sizes, i);
}
`, kind, cudasource.Members(strings.Join(cudasource.Sizes(p), ", "), cudasource.Reals(o)), path.Base(o.PyTorch.General.File), strings.Join(values, ", "), constants, o.Name, GeneralTemplate, strings.Join(taken, ", "),
		o.Macros.Macro("general_elements"), o.PyTorch.Function, strings.Join(passed, ", "))
	return item, source
}

// product is the formula of how many elements a tensor has.
func product(a operator.ArgumentSpec) string {
	factors := []string{"1"}
	for _, f := range a.Shape {
		factors = append(factors, "("+f.Code().String()+")")
	}
	return strings.Join(factors, " * ")
}
