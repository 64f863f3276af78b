package operator

import (
	"fmt"
	"slices"
	"strings"

	"autotune/internal/output"

	"github.com/goccy/go-yaml/ast"
)

// Fill is how a tensor of an operator's own choice is filled: from a distribution
// with its numbers, by a kernel of the operator's, or from a file. From a
// distribution, element i depends on i and the tensor's seed alone, on every
// device.
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
	numbers := make([]string, len(f.Numbers))
	for i, n := range f.Numbers {
		numbers[i] = n.Text
	}
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
}

// FillForms lists how a tensor may be filled, as "uniform(least, most)".
func FillForms() []string {
	var forms []string
	for _, name := range sorted(fillForms) {
		forms = append(forms, fillForm(name))
	}
	return forms
}

func fillForm(name string) string {
	if len(fillForms[name]) == 0 {
		return name
	}
	return name + "(" + strings.Join(fillForms[name], ", ") + ")"
}

// fill reads "uniform(-1, 1)": a distribution and expressions for its numbers.
func (l *loader) fill(n ast.Node, formula func(text string, where Position) Formula) FillSpec {
	if mapping, ok := l.outsideFill(n); ok {
		return mapping
	}
	text := strings.TrimSpace(l.text(n))
	name, rest, found := strings.Cut(text, "(")
	name = strings.TrimSpace(name)
	wanted, known := fillForms[name]
	if !known {
		l.failHint(at(n), nearestOrAll(name, "there are", sorted(fillForms)), "there is no distribution `%s`", name)
	}
	form := "as " + fillForm(name)
	if found && !strings.HasSuffix(rest, ")") {
		l.failHint(at(n), form, "`%s` does not end with a bracket", text)
	}
	f := FillSpec{Distribution: name}
	where := at(n)
	where.Column += len(text) - len(rest)
	for _, part := range arguments(strings.TrimSuffix(rest, ")")) {
		written := strings.TrimLeft(part, " ")
		start := where
		start.Column += len(part) - len(written)
		f.Numbers = append(f.Numbers, formula(strings.TrimSpace(written), start))
		where.Column += len(part) + 1
	}
	if len(f.Numbers) != len(wanted) {
		l.failHint(at(n), form, "`%s` takes %s, not %d", name, output.Count(int64(len(wanted)), "number"), len(f.Numbers))
	}
	return f
}

// arguments parts a list at its commas, but not at those within brackets.
func arguments(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var parts []string
	depth, start := 0, 0
	for i, c := range text {
		switch {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// bind gives the numbers of a problem.
func (f FillSpec) bind(b binder, tensor string) Fill {
	bound := Fill{Distribution: f.Distribution, Kernel: f.Kernel, File: f.File}
	for i, number := range f.Numbers {
		what := fmt.Sprintf("the %s of `%s`", fillForms[f.Distribution][i], tensor)
		_, x := b.number(what, number, "number", -maxFill, maxFill)
		bound.Numbers = append(bound.Numbers, x)
	}
	if meant := fillForms[f.Distribution]; slices.Equal(meant, []string{"least", "most"}) && bound.Numbers[0] > bound.Numbers[1] {
		b.fail("", "`%s` would be filled with %s from %v to %v", tensor, f.Distribution, bound.Numbers[0], bound.Numbers[1])
	}
	return bound
}

// maxFill bounds the numbers of fills: every double up to it is exact on all devices.
const maxFill = 1e300
