package t1

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/operator"
)

// Written is a document as Write writes it.
type Written struct {
	General             general
	ConfigurationSpace  configurationSpace
	KernelSpecification kernelSpecification
}

type general struct {
	BenchmarkName string
	FormatVersion int
}

type configurationSpace struct {
	TuningParameters []tuningParameter
	Conditions       []condition
}

type tuningParameter struct {
	Name, Type, Values string
	Default            expr.Value
}

type condition struct {
	Expression string
	Parameters []string
}

type kernelSpecification struct {
	Language        string
	CompilerOptions []string
	BenchmarkName   string
	KernelName      string
	KernelFile      string
	GlobalSizeType  string
	GlobalSize      extent
	LocalSize       extent
	ProblemSize     []string
	GridDivX        []string
	GridDivY        []string
	GridDivZ        []string
	SharedMemory    any
	Arguments       []writtenArgument
}

type extent struct{ X, Y, Z string }

type writtenArgument struct {
	Name, Type, MemoryType, AccessType string
	Size                               *int64   `json:",omitempty"`
	FillType                           string   `json:",omitempty"`
	FillValue                          *float64 `json:",omitempty"`
	MemType                            string   `json:",omitempty"`
	Output                             int      `json:",omitempty"`
}

// WriteJSON writes the document.
func (w Written) WriteJSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(w)
}

// Exported is a document with what its kernel's file begins with.
type Exported struct {
	Document Written
	Macros   []operator.Macro // that the file must define: all but the tunables
	Notes    []string         // what of the operator the document lacks
}

// Of describes one template of a problem. The tuning parameters bear the names of the
// macros, since tools define those; the problem's own values become macros of the
// kernel's file, derived ones as formulas.
func Of(p *operator.Problem, t *operator.Template, part space.Part, kernelFile string) (Exported, error) {
	var x Exported
	kernel, err := p.Kernel(t.Default)
	if err = cmp.Or(err, sayable(kernel)); err != nil {
		return x, err
	}
	e := exporter{problem: p, template: t, part: part, fold: &expr.Folder{Constants: part.Constants, Definitions: part.Definitions}}
	e.launches = e.made()
	e.python = python(e.name)
	e.cuda = cuda(e.name)
	d := &x.Document
	d.General = general{BenchmarkName: p.Operator.Name, FormatVersion: 1}
	k := &d.KernelSpecification
	*k = kernelSpecification{
		Language: "CUDA", CompilerOptions: []string{}, BenchmarkName: p.Operator.Name, KernelName: e.launches[0].Entry.Text, KernelFile: kernelFile,
		GlobalSizeType: "CUDA", GridDivX: []string{"1"}, GridDivY: []string{"1"}, GridDivZ: []string{"1"},
	}
	e.space(&d.ConfigurationSpace)
	e.launch(k)
	e.flags(k)
	e.arguments(k)
	x.Macros, x.Notes = e.macros(kernel), e.notes
	return x, e.err
}

// errMaps means that a document's kernel would be passed addresses where it takes tensor maps.
var errMaps = errors.New("it is passed tensor maps, and T1 has none")

// sayable refuses a kernel for which a document would be wrong, and not only lack something.
func sayable(k operator.Kernel) error {
	if slices.ContainsFunc(k.Launches, func(l operator.Launch) bool { return len(l.Maps) > 0 }) {
		return fmt.Errorf("template %s cannot be a T1 document: %w", k.Template, errMaps)
	}
	return nil
}

type exporter struct {
	problem      *operator.Problem
	template     *operator.Template
	part         space.Part
	launches     []operator.LaunchSpec // that some configuration makes; T1 has the first
	fold         *expr.Folder
	python, cuda dialect
	notes        []string
	err          error
}

func (e *exporter) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

func (e *exporter) name(name string) string { return e.problem.Operator.Macros.Macro(name) }

// text is an expression in a dialect; the first that cannot be said there is the error.
func (e *exporter) text(what string, code *expr.Expr, in dialect) string {
	text, err := in.write(e.fold.Fold(code.Root()))
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%s, %s: %w", what, code, err)
	}
	return unbracketed(text)
}

// unbracketed takes the brackets off that hold a whole text.
func unbracketed(text string) string {
	if !strings.HasPrefix(text, "(") {
		return text
	}
	depth := 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 && i < len(text)-1 {
			return text
		}
	}
	return text[1 : len(text)-1]
}

// space writes tunables and constraints, those of CUDA itself too, and where the one
// launch that T1 has is made.
func (e *exporter) space(c *configurationSpace) {
	c.Conditions = []condition{}
	for _, t := range e.part.Tunables {
		words, kind := lists.Of(t.Values, func(v expr.Value) string { return plain(v).Source() }), "int"
		switch t.Values[0].Kind() {
		case expr.KindFloat:
			kind = "float"
		case expr.KindString:
			kind = "string"
		}
		own, _ := e.template.Default.Get(t.Name)
		c.TuningParameters = append(c.TuningParameters, tuningParameter{e.name(t.Name), kind, "[" + strings.Join(words, ", ") + "]", plain(own)})
	}
	constraints := slices.Clone(e.part.Constraints)
	if made := e.launches[0].When; made != nil {
		constraints = append(constraints, made.Code())
	}
	for _, constraint := range constraints {
		folded := e.fold.Fold(constraint.Root())
		if folded.Op == expr.OpConst && folded.Value.Truth() {
			continue // true for this problem
		}
		names := folded.Names()
		for i, name := range names {
			names[i] = e.name(name)
		}
		c.Conditions = append(c.Conditions, condition{e.text("the constraint", constraint, e.python), names})
	}
}

// arguments writes tensors and scalars, but for workspaces that the launch does not take.
func (e *exporter) arguments(k *kernelSpecification) {
	for _, a := range e.problem.Arguments {
		if a.Owner != "" && !slices.Contains(e.launches[0].Arguments, a.Name) {
			continue
		}
		w := writtenArgument{Name: a.Name, Type: cmp.Or(typeNames[a.Type], "custom"), MemoryType: "Vector", AccessType: "ReadOnly", Size: &a.Elements, FillType: "Random"}
		zero := 0.0
		switch a.Role {
		case operator.Scalar:
			x, _ := a.Value.AsFloat()
			w.MemoryType, w.Size, w.FillType, w.FillValue = "Scalar", nil, "", &x
		case operator.Output:
			w.AccessType, w.FillType, w.FillValue, w.Output = "WriteOnly", "Constant", &zero, 1
		case operator.Workspace:
			if w.FillType, w.FillValue = "Constant", &zero; a.Elements > 0 {
				w.AccessType = "ReadWrite"
				e.note("the workspace %s is a vector that is read and written", a.Name)
			}
		case operator.InOut:
			w.AccessType, w.Output = "ReadWrite", 1
		}
		if a.Symbol != "" {
			w.Name, w.MemoryType = a.Symbol, "Symbol"
		}
		e.fill(&w, a)
		if w.Type == "custom" {
			e.note("%s is of type %s, which is custom there", a.Name, a.Type)
		}
		if a.Role != operator.Scalar && a.Elements == 0 {
			e.note("%s has no elements; there it is a vector of size 0, not a null pointer", a.Name)
		}
		k.Arguments = append(k.Arguments, w)
	}
}

func (e *exporter) fill(w *writtenArgument, a operator.Argument) {
	switch {
	case a.Fill == nil || !a.Role.Filled():
	case a.Fill.Distribution == "constant":
		w.FillType, w.FillValue = "Constant", &a.Fill.Numbers[0]
	default:
		e.note("%s is Random in the document: T1 has no fill `%s`", a.Name, a.Fill.Distribution)
	}
}

// macros are what the kernel's file defines of itself.
func (e *exporter) macros(k operator.Kernel) []operator.Macro {
	var macros []operator.Macro
	tunable := func(macro string) bool {
		return slices.ContainsFunc(e.part.Tunables, func(t space.Tunable) bool { return e.name(t.Name) == macro })
	}
	formulas := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(e.part.Definitions)) {
		formulas[e.name(name)] = "(" + e.text("the derived value "+name, e.part.Definitions[name], e.cuda) + ")"
	}
	for _, m := range k.Macros {
		if formula, ok := formulas[m.Name]; ok {
			m.Value = formula
		}
		if !tunable(m.Name) {
			macros = append(macros, m)
		}
	}
	return macros
}

// made are the template's launches without those that no configuration of this problem makes, or
// all if none is made, since a document has one. The first is the document's: the first that all
// configurations make, if there is one.
func (e *exporter) made() []operator.LaunchSpec {
	var always, made []operator.LaunchSpec
	for _, l := range e.template.Launches {
		switch is, known := e.isMade(l); {
		case known && is && always == nil:
			always = []operator.LaunchSpec{l}
		case is || !known:
			made = append(made, l)
		}
	}
	if made = append(always, made...); len(made) == 0 {
		return e.template.Launches
	}
	return made
}

// isMade tells whether configurations of this problem make a launch, where it does not depend on which.
func (e *exporter) isMade(l operator.LaunchSpec) (is, known bool) {
	if l.When == nil {
		return true, true
	}
	folded := e.fold.Fold(l.When.Code().Root())
	if folded.Op != expr.OpConst {
		return false, false
	}
	return folded.Value.Truth(), true
}

// launch writes block, grid and shared memory. The problem's size is the grid, divided
// by one: tools that divide it arrive at the same.
func (e *exporter) launch(k *kernelSpecification) {
	t := &e.launches[0]
	e.beyond()
	axis := func(what string, f operator.Formula) string { return e.text(what, f.Code(), e.python) }
	k.LocalSize = extent{axis("block", t.Block[0]), axis("block", t.Block[1]), axis("block", t.Block[2])}
	k.GlobalSize = extent{axis("grid", t.Grid[0]), axis("grid", t.Grid[1]), axis("grid", t.Grid[2])}
	k.ProblemSize = []string{k.GlobalSize.X, k.GlobalSize.Y, k.GlobalSize.Z}
	shared := axis("shared memory", t.Shared)
	if k.SharedMemory = shared; strings.Trim(shared, "0123456789") == "" {
		k.SharedMemory = json.Number(shared)
	} else {
		e.note("SharedMemory is the formula %s, where T1 asks for a number: other tools may not read it", shared)
	}
	for i, name := range []string{"block_size_x", "block_size_y", "block_size_z"} {
		if own := []string{k.LocalSize.X, k.LocalSize.Y, k.LocalSize.Z}[i]; own != "1" && own != name {
			e.note("LocalSize is %s in %s; Kernel Tuner takes a block's size from tuning parameters called block_size_x, block_size_y and block_size_z", own, axes[i])
		}
	}
}

// beyond notes what T1 cannot express: it has one launch of a grid of blocks.
func (e *exporter) beyond() {
	first, launches := &e.launches[0], e.launches
	if len(launches) > 1 {
		var others []string
		for i := range launches[1:] {
			if entry := launches[i+1].Entry.Text; entry != first.Entry.Text && !slices.Contains(others, entry) {
				others = append(others, entry)
			}
		}
		e.note("the document is not the whole kernel: T1 describes one launch, that of %s; %s must be launched after it", first.Entry.Text, strings.Join(others, ", "))
	}
	if first.Cluster != nil {
		e.note("thread-block clusters; T1 has none")
	}
	if !first.Cooperative.Never() {
		e.note("the cooperative launch; T1 has none")
	}
	if strings.Contains(first.Entry.Text, "{") {
		e.note("KernelName is %s, where the names in braces stand for tunables", first.Entry.Text)
	}
}

// flags writes the compiler's flags. Those that depend on tunables have no place.
func (e *exporter) flags(k *kernelSpecification) {
	for _, flag := range e.template.Flags {
		if strings.Contains(flag.Text, "{") {
			e.note("the compiler flag %s, which depends on tunables", flag.Text)
			continue
		}
		k.CompilerOptions = append(k.CompilerOptions, flag.Text)
	}
}

// PartOf is the part of a space that is a template's.
func PartOf(s *space.Space, template string) (space.Part, bool) {
	return lists.First(s.Parts(), func(part space.Part) bool { return part.Template == template })
}
