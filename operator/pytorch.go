package operator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/operator/tree"
)

// PyTorch connects an operator with PyTorch: it has a module for exports that replaces PyTorch's own, a kernel for
// problems other than the tuned one, and PyTorch's functions that compute the operator.
type PyTorch struct {
	Module    Source      `json:"-"`               // Python: class ModelNew and its inputs; no text: no module can be exported
	Gradients Source      `json:"-"`               // Python: gradients; no text: there are none
	General   Source      `json:"-"`               // CUDA: one output element of a problem of any sizes
	Function  string      `json:"-"`               // the function that General defines
	Calls     []TorchCall `json:"calls,omitempty"` // functions of PyTorch that compute the operator
}

// TorchCall describes a function of PyTorch that computes the operator. In an operator's list of TorchCalls, the
// function with the operator's own name comes first. Packs, captures and `ops show --json` contain TorchCalls as JSON.
type TorchCall struct {
	Function  string                `json:"function"`
	Arguments []TorchArgument       `json:"arguments"`       // in PyTorch's order
	Means     map[string]TorchValue `json:"means,omitempty"` // parameters that no argument gives; None: a tensor is left out
}

// Meant returns the values that a PyTorch function may imply for a parameter that is not an argument of the function.
// Meant returns nil if an argument gives the parameter's value.
func (c TorchCall) Meant(parameter string) (values []string) {
	if v := c.Means[parameter]; v != "" {
		values = append(values, string(v))
	}
	for _, a := range c.Arguments {
		if slices.Contains(a.sets(), parameter) {
			for word := range a.Words {
				values = append(values, string(a.meaning(word, parameter)))
			}
		}
	}
	return values
}

type TorchArgument struct {
	Name    string     `json:"name"`              // PyTorch's name
	Is      string     `json:"is"`                // the operator's tensor or parameter; an argument that is neither must have its default
	Fold    TorchFold  `json:"fold,omitempty"`    // how the tensor's dimensions become the operator's
	By      string     `json:"by,omitempty"`      // what the fold depends on: an argument, or a dimension if Fold is flat
	Default TorchValue `json:"default,omitempty"` // used if PyTorch is given None or nothing
	Same    string     `json:"same,omitempty"`    // the parameter or dimension whose value is the default
	// Words maps each text that a PyTorch argument may be to values of parameters; a parameter without a value is
	// false.
	Words map[string]map[string]TorchValue `json:"words,omitempty"`
}

// Optional tells whether a call may omit the argument.
func (a TorchArgument) Optional() bool { return a.Default != "" || a.Same != "" }

func (a TorchArgument) sets() []string {
	names := map[string]bool{}
	for _, settings := range a.Words {
		for name := range settings {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (a TorchArgument) meaning(word, parameter string) TorchValue {
	return cmp.Or(a.Words[word][parameter], "False")
}

// TorchFold says how the dimensions of PyTorch's tensor become those of the operator's tensor.
type TorchFold string

const (
	FoldRows  TorchFold = "rows"  // all dimensions but the last are rows of one matrix
	FoldAlong TorchFold = "along" // an argument names the dimensions that become one, between those before and those behind
	FoldOver  TorchFold = "over"  // an argument gives the sizes of the last dimensions, which become one
	FoldFlat  TorchFold = "flat"  // only the number of elements matters, of all dimensions or of those behind one
	FoldAdded TorchFold = "added" // none: numbers are added. Truths say where nothing is
)

// TorchValue is a constant in Python's syntax (None, True or 1e-5), or a word without quotes. "" means no value.
type TorchValue string

const None TorchValue = "None"

// constants maps Python's constants to those of JSON.
var constants = map[TorchValue]string{None: "null", "True": "true", "False": "false"}

// MarshalJSON writes a constant in JSON's syntax, and a word as a string.
func (v TorchValue) MarshalJSON() ([]byte, error) {
	if v.isConstant() {
		return []byte(cmp.Or(constants[v], string(v))), nil
	}
	return json.Marshal(string(v))
}

// isConstant tells whether the value is a constant and not a word. isConstant accepts 1e-5, which YAML reads as text.
func (v TorchValue) isConstant() bool { return constants[v] != "" || json.Valid([]byte(v)) }

func (v TorchValue) Python() string {
	if v.isConstant() {
		return string(v)
	}
	return quote.Python(string(v))
}

func (l *loader) pytorch(n *tree.Node) PyTorch {
	f, files := fields(n, "pytorch"), map[string]*tree.Node{}
	for _, file := range f["files"].List("files") {
		kind := "module"
		if strings.HasPrefix(path.Ext(file.Written), ".cu") {
			kind = "general"
		} else if gradientsForm.MatchString(l.file(file, "*.py").Text) {
			kind = "gradients"
		}
		files[kind] = file
	}
	source := func(kind, usual string, parts ...string) (file Source) {
		n := l.usual(files[kind], n, usual)
		if n == nil {
			return file
		}
		file = l.file(n, "*.py")
		for _, part := range parts {
			file.mustDefine(n, part, `(?m)^`+part+`\b`, "docs/pytorch-export.md lists what it defines")
		}
		return file
	}
	p := PyTorch{
		Module:    source("module", "module.py", "class ModelNew", "def get_inputs", "def get_init_inputs"),
		Gradients: source("gradients", "gradients.py", "def gradients"),
	}
	expressions := lists.Where(l.o.Parameters, func(s ParameterSpec) bool { return s.Type == ExpressionParameter })
	if functions, _, err := l.include("functions.py"); err == nil && len(expressions) > 0 && p.Gradients.Text != "" {
		known := strings.Contains(p.Gradients.Text, "through_epilogue")
		p.Gradients.Text = functions + "\n\n" + p.Gradients.Text
		if expressions[0].Axes != nil && !known {
			p.Gradients.Text += "\n\ngradients = before_epilogue(gradients)\n"
		}
	}
	at := l.usual(files["general"], n, "general.cuh")
	if at == nil {
		n.RefuseHint("name it among `files`, or call it general.cuh", "pytorch lacks the general kernel")
		return p
	}
	general, function := l.file(at, "*.cu*"), l.kernelName(at, l.o.Name+"_general")
	general.mustDefine(at, function, `\b(float|Element|Answer)\s+`+regexp.QuoteMeta(function)+`\s*\(`,
		"it is a __device__ function, of float, of element.cuh's Element or of row_state.cuh's Answer, of the tensors "+
			"read, the sizes and the output element's index")
	p.General, p.Function = l.withIncludes(general, path.Join(l.dir, general.File)), function
	if f["arguments"] != nil {
		p.Calls = append(p.Calls, torchReader{l.o}.call(l.o.Name, n, f))
	}
	for _, e := range f["calls"].Mapped("calls must be a mapping of PyTorch's functions") {
		p.Calls = append(p.Calls, torchReader{l.o}.call(e.Key, e.Value, fields(e.Value, "a call")))
	}
	return p
}

var gradientsForm = regexp.MustCompile(`(?m)^def gradients\b`)

// torchReader reads which functions of PyTorch compute an operator.
type torchReader struct{ o *Operator }

// call reads a PyTorch function's arguments, which must include all inputs and weights, and the parameter values that
// the function implies.
func (r torchReader) call(function string, n *tree.Node, f tree.Fields) TorchCall {
	if !quote.IsPythonName(function) {
		n.Refuse("`%s` is no name of a function in Python", function)
	}
	c, given := TorchCall{Function: function}, map[string]bool{}
	give := func(at *tree.Node, name string) {
		if given[name] {
			at.Refuse("`%s` is given twice", name)
		}
		given[name] = true
	}
	for _, e := range f["arguments"].Mapped("arguments must be a mapping of PyTorch's names") {
		a := r.argument(e)
		give(e.Value, a.Is)
		for _, name := range a.sets() {
			give(e.Value, name)
		}
		c.Arguments = append(c.Arguments, a)
	}
	if f["means"] != nil {
		c.Means = r.settings(f["means"])
	}
	for name := range c.Means {
		give(f["means"], name)
	}
	for _, a := range c.Arguments {
		isArgument := slices.ContainsFunc(c.Arguments, func(other TorchArgument) bool { return other.Name == a.By })
		if a.By != "" && a.Fold != FoldFlat && !isArgument {
			n.Refuse("`%s` is folded by `%s`, which is no argument of the function", a.Name, a.By)
		}
	}
	for _, t := range r.o.Arguments {
		if t.Role.Filled() && !given[t.Name] && !mayLack(t) {
			n.Refuse("no argument is the tensor `%s`", t.Name)
		}
	}
	return c
}

func (r torchReader) argument(e tree.Entry) TorchArgument {
	a := TorchArgument{Name: e.Key, Is: e.Key}
	if !quote.IsPythonName(a.Name) || a.Name == "mode" {
		e.Refuse("`%s` cannot be the name of an argument in Python", a.Name)
	}
	if e.Value.Kind != tree.Mapping {
		r.defaultOf(&a, e.Value)
		return a
	}
	f := fields(e.Value, "an argument")
	if f["is"] != nil {
		a.Is = f["is"].Name()
		r.mustBeOurs(f["is"], a.Is)
	}
	if f["fold"] != nil {
		r.fold(&a, f["fold"])
	}
	for _, word := range f["words"].Mapped("words must be a mapping of an argument's words") {
		if a.Words == nil {
			a.Words = map[string]map[string]TorchValue{}
		}
		a.Words[word.Key] = r.settings(word.Value)
	}
	if f["default"] != nil {
		r.defaultOf(&a, f["default"])
	}
	return a
}

func (r torchReader) fold(a *TorchArgument, n *tree.Node) {
	words := []*tree.Node{n}
	if n.Kind == tree.List {
		words = n.Items
	}
	if len(words) < 1 || len(words) > 2 {
		n.RefuseHint("as flat or [along, dim]", "a fold is a name, or a list of two")
		return
	}
	a.Fold = TorchFold(words[0].OneOf("fold", "rows", "along", "over", "flat", "added"))
	if len(words) == 2 {
		a.By = words[1].Name()
	}
	switch by := a.Fold == FoldAlong || a.Fold == FoldOver; {
	case by && a.By == "":
		hint := fmt.Sprintf("as [%s, dim]", a.Fold)
		n.RefuseHint(hint, "`%s` is folded %s an argument of the function, which must be named", a.Name, a.Fold)
	case !by && a.Fold != FoldFlat && a.By != "":
		n.Refuse("`%s` is folded %s, which depends on nothing", a.Name, a.Fold)
	case a.Fold == FoldFlat && a.By != "":
		r.mustBeOurs(words[1], a.By)
	}
}

// defaultOf reads the default of a PyTorch argument: a constant, one of its words, another parameter or a dimension.
func (r torchReader) defaultOf(a *TorchArgument, n *tree.Node) {
	v := torchValue(n)
	switch {
	case v.isConstant():
		a.Default = v
	case a.Words != nil:
		a.Default = TorchValue(n.OneOf("word", slices.Sorted(maps.Keys(a.Words))...))
	default:
		a.Same = string(v)
		r.mustBeOurs(n, a.Same)
	}
}

func torchValue(n *tree.Node) TorchValue {
	if n.Kind == tree.Truth {
		return TorchValue(n.Value)
	}
	return TorchValue(n.Text())
}

// settings reads a mapping of parameters to values, in which an expression must be in canonical form.
func (r torchReader) settings(n *tree.Node) map[string]TorchValue {
	all := map[string]TorchValue{}
	for _, e := range n.Mapped("this must be a mapping of the operator's parameters to their values") {
		r.mustBeOurs(e.Value, e.Key)
		v := torchValue(e.Value)
		all[e.Key] = v
		s := r.o.parameter(e.Key)
		if s == nil || s.Type != ExpressionParameter {
			continue
		}
		values, err := s.parse(string(v))
		if err != nil {
			e.Value.Refuse("%v", err)
		} else if own := values[0].String(); own != string(v) {
			e.Value.RefuseHint("write "+own, "the expression `%s` has another form in problems", v)
		}
	}
	return all
}

// mustBeOurs refuses a name that is not a tensor, parameter or dimension of the operator.
func (r torchReader) mustBeOurs(n *tree.Node, name string) {
	is := func(t ArgumentSpec) bool { return t.Name == name }
	if r.o.parameter(name) == nil && !slices.Contains(r.o.Shape, name) && !slices.ContainsFunc(r.o.Arguments, is) {
		n.Refuse("the operator has no tensor, parameter or dimension `%s`", name)
	}
}

// mayLack tells whether a tensor is empty in some problems.
func mayLack(t ArgumentSpec) bool {
	return slices.ContainsFunc(t.Shape, func(f Formula) bool { return f.Text == "0" || strings.HasSuffix(f.Text, " else 0") })
}
