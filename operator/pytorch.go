package operator

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/operator/tree"
)

// PyTorch describes an operator as PyTorch has it: a module for exports that replaces
// PyTorch's own, a kernel for all problems but the tuned one, and the functions that compute
// the same.
type PyTorch struct {
	Module    Source // Python: class ModelNew, get_inputs, get_init_inputs; no text: no module can be exported
	Gradients Source // Python: gradients; no text: there are none
	General   Source // CUDA: one output element of a problem whose sizes are known at run time
	Function  string // that General defines
	Calls     []TorchCall
}

// TorchCall is a function of PyTorch's that computes the operator. One with the operator's own name
// comes first.
type TorchCall struct {
	Name      string
	Arguments []TorchArgument
}

// TorchArgument is an argument of a function of PyTorch's, in its order: `kernel_size as
// kernel`, `stride=kernel`, `input as rows of a`, `input as x along dim`, `input as x over
// normalized_shape`, `input as x flat`, `input as x flat behind c`, `attn_mask as added mask`. `transpose_b
// is True` is none: the function means it. So it does by another argument in `sum is reduction == 'sum'` and in
// `f is 'gelu_tanh(x)' if approximate == 'tanh' else 'gelu(x)'`.
type TorchArgument struct {
	Text     string
	Torch    string // PyTorch's name; "" of what a function means: a value, or that a tensor is None
	Name     string // of the operator's tensor or parameter; another must have its default
	Rows     bool   // all dimensions but the last are rows of one matrix
	Along    string // the argument that says which dimensions are one, between those before and behind
	Over     string // the argument that gives the sizes of the last dimensions, which are one
	Flat     bool   // only the number of elements counts, of all dimensions or of those behind one
	Default  string // where PyTorch is given None or nothing; "" if it must be given
	Optional bool
	// The meaning may depend on another argument, By: it is Default where that is Word, and else Other.
	By, Word, Other string
}

var (
	torchArgument = regexp.MustCompile(`^(\w+)(?: as (rows of |added )?(\w+))?(?: (along|over) (\w+)| (flat)(?: behind (\w+))?)?(?: ?= ?(\S+))?$`)
	torchMeaning  = regexp.MustCompile(`^(\w+) is (\S+)$`)
	torchChoice   = regexp.MustCompile(`^(\w+) is (?:'(\S+)' if )?(\w+) == '(\w+)'(?: else '(\S+)')?$`)
	// torchDefault is a constant of Python's, or a name.
	torchDefault = regexp.MustCompile(`^-?(\w+|'\w*'|\d+\.\d*(e-?\d+)?|\d+e-?\d+)$`)
)

// pytorch reads the key of that name and its files.
func (l *loader) pytorch(n *tree.Node) PyTorch {
	f := fields(n, "pytorch")
	source := func(key string, parts ...string) (file Source) {
		if f[key] == nil {
			return file
		}
		file = l.file(f[key], "*.py")
		for _, part := range parts {
			file.mustDefine(f[key], part, `(?m)^`+part+`\b`, "docs/pytorch-export.md lists what it defines")
		}
		return file
	}
	p := PyTorch{
		Module:    source("module", "class ModelNew", "def get_inputs", "def get_init_inputs"),
		Gradients: source("gradients", "def gradients"),
	}
	general, function := l.file(f["general"], "*.cu*"), l.kernelName(f["general"], l.o.Name+"_general")
	general.mustDefine(f["general"], function, `\b(float|Element|Answer)\s+`+regexp.QuoteMeta(function)+`\s*\(`,
		"it is a __device__ function, of float, of element.cuh's Element or of row_state.cuh's Answer, of the tensors read, the sizes and the output element's index")
	p.General, p.Function = l.withIncludes(general, path.Join(l.dir, general.File), nil), function
	if f["arguments"] != nil {
		p.Calls = append(p.Calls, l.torchCall(l.o.Name, f["arguments"]))
	}
	for _, e := range f["calls"].Mapped("calls must be a mapping of PyTorch's functions to their arguments") {
		p.Calls = append(p.Calls, l.torchCall(e.Key, e.Value))
	}
	return p
}

// torchCall reads the arguments of a function, which must give every input and weight.
func (l *loader) torchCall(name string, n *tree.Node) TorchCall {
	c := TorchCall{Name: name}
	if !quote.IsPythonName(name) {
		n.Refuse("`%s` is no name of a function in Python", name)
	}
	given := map[string]bool{}
	for _, item := range n.List("arguments") {
		a := TorchArgument{Text: item.Text()}
		if m := torchArgument.FindStringSubmatch(a.Text); m != nil {
			a.Torch, a.Rows, a.Name, a.Flat, a.Default = m[1], m[2] == "rows of ", cmp.Or(m[3], m[1]), m[6] != "", m[8]
			if a.Along = m[5]; m[4] == "over" {
				a.Along, a.Over = "", m[5]
			}
			a.Optional = a.Default != ""
			if a.Optional && !torchDefault.MatchString(a.Default) {
				item.RefuseHint("as 1, 1e-5, True, None, 'none' or another argument", "`%s` is no default", a.Default)
			}
		} else if m := torchMeaning.FindStringSubmatch(a.Text); m != nil {
			a.Name, a.Default = m[1], m[2]
			l.meaning(item, a)
		} else if m := torchChoice.FindStringSubmatch(a.Text); m != nil && (m[2] == "") == (m[5] == "") {
			a.Name, a.By, a.Word, a.Default, a.Other = m[1], m[3], m[4], cmp.Or(m[2], "True"), cmp.Or(m[5], "False")
			l.meaning(item, a)
		} else {
			item.RefuseHint("write `stride=1`, `kernel_size as kernel`, `input as rows of a`, `input as x along dim`, `input as x over shape`, `input as x flat`, `transpose_b is True` or `sum is reduction == 'sum'`", "this is no argument of PyTorch's: `%s`", a.Text)
		}
		known := slices.Concat(l.o.Shape, l.torchNames())
		if a.Torch != a.Name && !slices.Contains(known, a.Name) {
			item.Refuse("the operator has no tensor or parameter `%s`", a.Name)
		}
		if a.Torch != "" && (!quote.IsPythonName(a.Torch) || a.Torch == "mode" || slices.ContainsFunc(c.Arguments, func(other TorchArgument) bool { return other.Torch == a.Torch })) {
			item.Refuse("`%s` cannot be the name of an argument in Python, or is one already", a.Torch)
		}
		if given[a.Name] {
			item.Refuse("`%s` is given twice", a.Name)
		}
		given[a.Name] = true
		c.Arguments = append(c.Arguments, a)
	}
	for _, a := range c.Arguments {
		by := cmp.Or(a.Along, a.Over, a.By)
		if by != "" && !slices.ContainsFunc(c.Arguments, func(other TorchArgument) bool { return other.Torch == by }) {
			n.Refuse("`%s` goes by `%s`, which is no argument of the function", a.Name, by)
		}
	}
	for _, t := range l.o.Arguments {
		if t.Role.Filled() && !given[t.Name] && !mayLack(t) {
			n.Refuse("no argument is the tensor `%s`", t.Name)
		}
	}
	return c
}

// Meant are the values that a function means: one, or those that another argument chooses from.
func (a TorchArgument) Meant() []string {
	switch {
	case a.Torch != "":
		return nil
	case a.By != "":
		return []string{a.Default, a.Other}
	}
	return []string{a.Default}
}

// meaning checks the values that a function means. An expression must be written as problems have it.
func (l *loader) meaning(item *tree.Node, a TorchArgument) {
	s := l.o.parameter(a.Name)
	if s == nil || s.Type != ExpressionParameter {
		return
	}
	for _, meant := range a.Meant() {
		values, err := s.parse(meant)
		if err != nil {
			item.Refuse("%v", err)
		} else if own := values[0].String(); own != meant {
			item.RefuseHint("write "+own, "the expression `%s` has another form in problems", meant)
		}
	}
}

// mayLack tells whether a tensor is empty in some problems.
func mayLack(t ArgumentSpec) bool {
	return slices.ContainsFunc(t.Shape, func(f Formula) bool { return f.Text == "0" || strings.HasSuffix(f.Text, " else 0") })
}

// torchNames are the names of tensors and of parameters.
func (l *loader) torchNames() (names []string) {
	names = append(names, lists.Of(l.o.Arguments, func(t ArgumentSpec) string { return t.Name })...)
	names = append(names, lists.Of(l.o.Parameters, func(s ParameterSpec) string { return s.Name })...)
	return names
}

// Texts are the arguments as written.
func (c TorchCall) Texts() []string {
	return lists.Of(c.Arguments, func(a TorchArgument) string { return strings.TrimSpace(a.Text) })
}
