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

// A tensor's shape is the same as in PyTorch, whatever the order of its elements in memory. A parameter may choose the
// order of elements in memory, so that one operator serves both PyTorch's default order and channels-last tensors.

// The words nchw and nhwc name an order in memory, for tensors of any rank whose second dimension is the channels.
const (
	channelsSecond = "nchw" // as the shape is
	channelsLast   = "nhwc"
)

// orderOf returns a tensor's axes from the outermost in memory to the innermost, or nil for the order of its shape.
func orderOf(word string, rank int) []int {
	if word != channelsLast || rank < 3 {
		return nil
	}
	order := []int{0}
	for axis := 2; axis < rank; axis++ {
		order = append(order, axis)
	}
	return append(order, 1)
}

func (l *loader) order(n *tree.Node, a *ArgumentSpec) {
	if n == nil {
		return
	}
	var names []string
	for _, spec := range l.o.Parameters {
		if spec.Type == WordParameter {
			names = append(names, spec.Name)
		}
	}
	if a.OrderBy = n.OneOf("order", names...); l.Failed() {
		return
	}
	for _, word := range l.o.parameter(a.OrderBy).Choices {
		if w := word.String(); w != channelsSecond && w != channelsLast {
			n.RefuseHint("write choices: ["+channelsSecond+", "+channelsLast+"]", "`%s` is a parameter of words, and its word `%s` is no order of a tensor in memory", a.OrderBy, w)
		}
	}
}

func (a ArgumentSpec) orderIn(values map[string]expr.Value) []int {
	if a.OrderBy == "" {
		return nil
	}
	return orderOf(values[a.OrderBy].String(), len(a.Shape))
}

// Orders returns the parameters that choose the order of tensors in memory.
func (o *Operator) Orders() []string {
	var names []string
	for _, a := range o.Arguments {
		if a.OrderBy != "" && !slices.Contains(names, a.OrderBy) {
			names = append(names, a.OrderBy)
		}
	}
	return names
}

// Axes returns the tensor's axes from the outermost in memory to the innermost.
func (a Argument) Axes() []int {
	if a.Order != nil {
		return a.Order
	}
	return lists.Places(len(a.Shape))
}

// Coordinates returns the indices, in the shape's order, of the element that is at position i in memory.
func (a Argument) Coordinates(i int64) []int64 {
	at := make([]int64, len(a.Shape))
	for _, axis := range slices.Backward(a.Axes()) {
		if n := a.Shape[axis]; n > 0 {
			at[axis], i = i%n, i/n
		}
	}
	return at
}

func (a Argument) ShapeText() string {
	if a.Order == nil {
		return FormatShape(a.Shape)
	}
	inMemory := lists.Of(a.Order, func(axis int) int64 { return a.Shape[axis] })
	return fmt.Sprintf("%s, in memory %s", FormatShape(a.Shape), FormatShape(inMemory))
}

// Fill says how to fill a tensor for which op.yaml has a `fill`: from a distribution, by a kernel of the operator, or
// from a file. With a distribution, element i depends only on i and the tensor's seed, on every device.
type Fill struct {
	Distribution string    `json:"distribution,omitempty"` // "": one of the others
	Numbers      []float64 `json:"numbers,omitempty"`
	Kernel       string    `json:"kernel,omitempty"` // which of the operator's fill kernels
}

func (f *Fill) Drawn() bool { return f == nil || f.Distribution != "" }

// FillSpec is a Fill whose numbers are formulas.
type FillSpec struct {
	Distribution string
	Numbers      []Formula
	Kernel       string
}

func (f FillSpec) String() string {
	switch {
	case f.Kernel != "":
		return "kernel " + f.Kernel
	case len(f.Numbers) == 0:
		return f.Distribution
	}
	numbers := lists.Of(f.Numbers, func(n Formula) string { return n.Text })
	return f.Distribution + "(" + strings.Join(numbers, ", ") + ")"
}

// fillForms lists the distributions that a tensor's fill may name, with the names of their parameters.
var fillForms = map[string][]string{
	"uniform":     {"least", "most"},     // [least, most)
	"normal":      {"mean", "deviation"}, //
	"integers":    {"least", "most"},     // both of them too
	"constant":    {"value"},
	"range":       {"first", "step"}, // element i is first + step*i
	"permutation": {},                // of the numbers 0 to Elements-1
	"sorted":      {"least", "most"}, // uniform, in ascending order
	scaled:        {"most"},          // for a weight: uniform from -most to most
}

// scaled names the distribution from which a weight with a Scale is filled: uniform from -Scale to Scale.
const scaled = "within"

// fillForm returns the form of a distribution for messages, such as "uniform(least, most)".
func fillForm(name string) string {
	if len(fillForms[name]) == 0 {
		return name
	}
	return name + "(" + strings.Join(fillForms[name], ", ") + ")"
}

// fill reads a fill: a distribution such as "uniform(-1, 1)", whose numbers are expressions, or a kernel or file.
func (l *loader) fill(n *tree.Node, s scope, a *ArgumentSpec) {
	if own, ok := l.ownFill(n); ok {
		a.Fill = &own
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
		return
	}
	for _, number := range call.Args {
		formula, open := l.expanded(number, number.Source(), "", n.Position)
		if open {
			refuseOpen(n)
		}
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

func (f FillSpec) bind(b *binder, tensor string) Fill {
	bound := Fill{Distribution: f.Distribution, Kernel: f.Kernel}
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

// maxFill limits the absolute values of the numbers in a tensor's fill, such as those of uniform(-1, 1).
const maxFill = 1e300
