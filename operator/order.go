package operator

import (
	"fmt"
	"slices"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space/expr"
)

// A tensor's shape is that of PyTorch, whatever the order in which its elements lie in memory. A parameter of
// words may name that order: then one operator serves tensors as PyTorch makes them, and channels-last ones.

// The words that name an order. They are the same for tensors of all ranks: the second dimension is the channels.
const (
	channelsSecond = "nchw" // as the shape is
	channelsLast   = "nhwc"
)

// orderWord is the word for an order that has another name for this number of dimensions: ndhwc is
// nhwc with five. Other words stay.
func orderWord(word string, rank int) string {
	axes := max(0, 5-rank) // of depth, height and width, those that there are
	if axes > 2 {
		return word
	}
	switch spatial := "dhw"[axes:]; word {
	case "nc" + spatial:
		return channelsSecond
	case "n" + spatial + "c":
		return channelsLast
	}
	return word
}

// orderOf gives the axes of a tensor from the outermost in memory to the innermost; nil: as its shape has them.
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

// order reads the parameter that names a tensor's order in memory.
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
	a.OrderBy = n.OneOf("order", names...)
	for _, word := range l.o.parameter(a.OrderBy).Choices {
		if w := word.String(); w != channelsSecond && w != channelsLast {
			n.RefuseHint("write choices: ["+channelsSecond+", "+channelsLast+"]", "`%s` is a parameter of words, and its word `%s` is no order of a tensor in memory", a.OrderBy, w)
		}
	}
}

// orderIn is the order of a tensor in a problem of these values.
func (a ArgumentSpec) orderIn(values map[string]expr.Value) []int {
	if a.OrderBy == "" {
		return nil
	}
	return orderOf(values[a.OrderBy].String(), len(a.Shape))
}

// Orders are the parameters that name the order of tensors in memory.
func (o *Operator) Orders() []string {
	var names []string
	for _, a := range o.Arguments {
		if a.OrderBy != "" && !slices.Contains(names, a.OrderBy) {
			names = append(names, a.OrderBy)
		}
	}
	return names
}

// ChannelsLast is the --set that gives the problem channels-last tensors; "" if it has them, or if
// there is none.
func (p *Problem) ChannelsLast() string {
	for _, name := range p.Operator.Orders() {
		if p.Values[name].String() == channelsSecond {
			return name + "=" + channelsLast
		}
	}
	return ""
}

// Axes are the tensor's axes from the outermost in memory to the innermost.
func (a Argument) Axes() []int {
	if a.Order != nil {
		return a.Order
	}
	return lists.Places(len(a.Shape))
}

// Coordinates are the indices of the element that is the i-th in memory, in the shape's order.
func (a Argument) Coordinates(i int64) []int64 {
	at := make([]int64, len(a.Shape))
	for _, axis := range slices.Backward(a.Axes()) {
		if n := a.Shape[axis]; n > 0 {
			at[axis], i = i%n, i/n
		}
	}
	return at
}

// ShapeText is the shape, with that in memory if it differs.
func (a Argument) ShapeText() string {
	if a.Order == nil {
		return FormatShape(a.Shape)
	}
	inMemory := lists.Of(a.Order, func(axis int) int64 { return a.Shape[axis] })
	return fmt.Sprintf("%s, in memory %s", FormatShape(a.Shape), FormatShape(inMemory))
}
