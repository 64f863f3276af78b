package operator

import (
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator/tree"
	"autotune/space/expr"
)

// Fill is how a tensor is filled that op.yaml gives a `fill`: from a distribution with its numbers,
// by a kernel of the operator's, or from a file. From a distribution, element i depends on i and
// the tensor's seed alone, on every device.
type Fill struct {
	Distribution string    `json:"distribution,omitempty"` // "": one of the others
	Numbers      []float64 `json:"numbers,omitempty"`
	Kernel       string    `json:"kernel,omitempty"` // which of the operator's fill kernels
	File         string    `json:"file,omitempty"`   // which of its data files
}

// Drawn tells whether the contents are a distribution's.
func (f *Fill) Drawn() bool { return f == nil || f.Distribution != "" }

// FillSpec is a Fill whose numbers are formulas.
type FillSpec struct {
	Distribution string
	Numbers      []Formula
	Kernel       string
	File         string
}

// String writes it as op.yaml does.
func (f FillSpec) String() string {
	switch {
	case f.Kernel != "":
		return "kernel " + f.Kernel
	case f.File != "":
		return f.File
	case len(f.Numbers) == 0:
		return f.Distribution
	}
	numbers := lists.Of(f.Numbers, func(n Formula) string { return n.Text })
	return f.Distribution + "(" + strings.Join(numbers, ", ") + ")"
}

// fillForms are the distributions that a tensor may have of its own, and what their
// numbers mean.
var fillForms = map[string][]string{
	"uniform":     {"least", "most"},     // [least, most)
	"normal":      {"mean", "deviation"}, //
	"integers":    {"least", "most"},     // both of them too
	"constant":    {"value"},
	"range":       {"first", "step"}, // first + step*i
	"permutation": {},                // of 0 to its elements less one
	"sorted":      {"least", "most"}, // ascending, uniform
	scaled:        {"most"},          // of a weight: uniform from -most to most
}

// scaled is the distribution of a weight's Scale.
const scaled = "within"

// FillForms lists how a tensor may be filled, as "uniform(least, most)".
func FillForms() []string {
	return lists.Of(sorted(fillForms), fillForm)
}

func fillForm(name string) string {
	if len(fillForms[name]) == 0 {
		return name
	}
	return name + "(" + strings.Join(fillForms[name], ", ") + ")"
}

// fill reads "uniform(-1, 1)": a distribution and expressions for its numbers; or what else an
// argument may be filled with.
func (l *loader) fill(n *tree.Node, s scope, a *ArgumentSpec) {
	if outside, ok := l.outsideFill(n, *a); ok {
		a.Fill = &outside
		return
	}
	call := syntax(n.Text(), n.Position, "")
	if call.Op != expr.OpName && call.Op != expr.OpCall {
		n.RefuseHint("as fill: \"uniform(-1, 1)\"", "`%s` is no distribution", n.Text())
	}
	f := FillSpec{Distribution: call.Name}
	wanted, known := fillForms[f.Distribution]
	if !known {
		n.RefuseHint(tree.NearestOrAll(f.Distribution, "there are", sorted(fillForms)), "there is no distribution `%s`", f.Distribution)
	}
	if len(call.Args) != len(wanted) {
		n.RefuseHint("as "+fillForm(f.Distribution), "`%s` takes %s, not %d", f.Distribution, output.Count(int64(len(wanted)), "number"), len(call.Args))
	}
	for _, number := range call.Args {
		formula, _ := l.expanded(number, number.Source(), "", n.Position)
		f.Numbers = append(f.Numbers, l.uses(formula, s))
	}
	if f.Distribution != scaled {
		a.Fill = &f
		return
	}
	if a.Role != Weight || a.Type.Kind() != Floating {
		n.RefuseHint("as fill: \"uniform(-5, 5)\"", "only a weight of a floating type is filled `within`; `%s` is %s of type %s", a.Name, a.Role.noun(), a.Type)
	}
	a.Scale = &f.Numbers[0]
}

// bind gives the numbers of a problem.
func (f FillSpec) bind(b *binder, tensor string) Fill {
	bound := Fill{Distribution: f.Distribution, Kernel: f.Kernel, File: f.File}
	for i, number := range f.Numbers {
		what := fmt.Sprintf("the %s of `%s`", fillForms[f.Distribution][i], tensor)
		_, x := b.number(what, number, "number", -maxFill, maxFill)
		bound.Numbers = append(bound.Numbers, x)
	}
	if meant := fillForms[f.Distribution]; slices.Equal(meant, []string{"least", "most"}) && bound.Numbers[0] > bound.Numbers[1] {
		b.refuse("", "`%s` would be filled with %s from %v to %v", tensor, f.Distribution, bound.Numbers[0], bound.Numbers[1])
	}
	return bound
}

// maxFill bounds the numbers of fills: every double up to it is exact on all devices.
const maxFill = 1e300
