package operator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/operator/tree"
	"autotune/space/expr"
)

// An expression whose parameter has `axes` is an epilogue: a kernel applies it to each output before storing the
// output. An epilogue may name tensors that the operator does not have. `r[m,n]` has the axes m and n of the output and
// is broadcast along the output's other axes. The tensors of an epilogue are the last arguments of the problem's
// operator, and of each launch that stores outputs. References, correctness gates, exports and packs need no special
// code for an epilogue's tensors, since these are ordinary arguments.

const mostOperands = 8 // tensors of an epilogue

// operand is a tensor that a user names in an epilogue.
type operand struct {
	name string
	axes []int // of the output's, ascending
	kind Type  // "": the output's
}

var operandTypes = []string{string(F32), string(BF16), string(F16)}

// knows returns nil if an expression may contain the given name, and otherwise an error with the reason.
func (s *ParameterSpec) knows(name string) error {
	switch tensor, _, item := strings.Cut(name, "["); {
	case slices.Contains(s.Of, name):
		return nil
	case s.Axes == nil:
		return fmt.Errorf("unknown name '%s': there are %s", name, strings.Join(s.Of, ", "))
	case !item:
		return fmt.Errorf("unknown name '%s': there is %s; a tensor has its dimensions behind it, as %s[%s], and a number "+
			"in memory none, as %s[]", name, strings.Join(s.Of, ", "), tensor, strings.Join(s.Axes, ","), tensor)
	case slices.Contains(s.Of, tensor):
		return fmt.Errorf("'%s' is the value that the epilogue begins with, and no tensor", tensor)
	}
	_, err := s.operand(name)
	return err
}

// ofModules lists argument names of functions in packs and modules, by which no tensor of an epilogue may be called.
var ofModules = []string{"mode", "of", "self", "settings"}

// operand reads a tensor: `r[m,n]`, or `r[m,n,f32]` with an element type of its own.
func (s *ParameterSpec) operand(item string) (t operand, err error) {
	name, within, _ := strings.Cut(strings.TrimSuffix(item, "]"), "[")
	if t.name = name; !quote.IsPythonName(name) || IsReserved(name) || slices.Contains(ofModules, name) {
		return t, fmt.Errorf("'%s' cannot be the name of a tensor: it means something already", name)
	}
	words := lists.Where(strings.Split(within, ","), func(word string) bool { return word != "" })
	if last := len(words) - 1; last >= 0 && slices.Contains(operandTypes, words[last]) {
		t.kind, words = Type(words[last]), words[:last]
	}
	for _, word := range words {
		axis := slices.Index(s.Axes, word)
		if axis < 0 {
			hint := tree.NearestOrAll(word, "the output has", s.Axes)
			return t, fmt.Errorf("`%s`: no dimension is called '%s'; %s. A type stands last: %s",
				item, word, hint, strings.Join(operandTypes, ", "))
		}
		if len(t.axes) > 0 && axis <= t.axes[len(t.axes)-1] {
			return t, fmt.Errorf("`%s`: a tensor has each dimension once, in the output's order: %s",
				item, strings.Join(s.Axes, ","))
		}
		t.axes = append(t.axes, axis)
	}
	beyond := len(lists.Where(t.axes, func(axis int) bool { return axis >= s.Apart }))
	if s.Apart > 0 && beyond > 0 && beyond < len(s.Axes)-s.Apart {
		return t, fmt.Errorf("`%s`: a tensor has all of %s, or none of them", item, strings.Join(s.Axes[s.Apart:], ","))
	}
	return t, nil
}

// operands returns an epilogue's tensors in the order in which the epilogue first names them, and the text of each
// name. The method operands refuses too many tensors, and a tensor that is named with different axes or types.
func (s *ParameterSpec) operands(root *expr.Node) (all []operand, items []string, err error) {
	for _, item := range root.InOrder() {
		if s.Axes == nil || slices.Contains(s.Of, item) || slices.Contains(items, item) {
			continue
		}
		t, err := s.operand(item)
		if err != nil {
			return nil, nil, err
		}
		if at := slices.IndexFunc(all, func(other operand) bool { return other.name == t.name }); at >= 0 {
			return nil, nil, fmt.Errorf("`%s` and `%s`: a tensor has the same dimensions and type wherever it is named",
				items[at], item)
		}
		if len(all) == mostOperands {
			return nil, nil, fmt.Errorf("`%s` is one more than the %d tensors that an epilogue may have",
				item, mostOperands)
		}
		all, items = append(all, t), append(items, item)
	}
	return all, items, nil
}

// mask returns the tensor's axes as a bit mask for kernels; the lowest bit stands for the output's first axis. In the
// mask, all axes whose index is at least s.Apart share a bit.
func (s *ParameterSpec) mask(t operand) (mask int) {
	for _, axis := range t.axes {
		if s.Apart > 0 {
			axis = min(axis, s.Apart)
		}
		mask |= 1 << axis
	}
	return mask
}

// isImage tells whether a tensor of an epilogue is a single image, in the same memory order as the output's images.
func (s *ParameterSpec) isImage(t operand) bool {
	return s.Apart > 0 && len(t.axes) == len(s.Axes)-1 && t.axes[0] == 1
}

// argument describes an epilogue's tensor as an argument of kernels that store the output.
func (s *ParameterSpec) argument(t operand, output ArgumentSpec) ArgumentSpec {
	a := ArgumentSpec{Name: t.name, Role: Weight, Type: output.Type, TypeBy: output.TypeBy, Types: output.Types}
	if t.kind != "" {
		a.Type, a.TypeBy, a.Types = t.kind, "", []Type{t.kind}
	}
	for _, axis := range t.axes {
		a.Shape = append(a.Shape, output.Shape[axis])
	}
	switch {
	case len(t.axes) == 0:
		a.Shape = []Formula{constant("1")}
	case len(t.axes) == len(output.Shape): // as large as the output, with the same order in memory
		a.Role, a.OrderBy = Input, output.OrderBy
	case s.isImage(t):
		a.Shape, a.OrderBy = slices.Insert(a.Shape, 0, constant("1")), output.OrderBy
	}
	return a
}

// epilogue adds the tensors that the problem's epilogues name to the problem's operator.
func (b *binder) epilogue(Request) {
	o := b.p.Operator
	for i := range o.Parameters {
		s := &o.Parameters[i]
		if s.Axes == nil {
			continue
		}
		c, _ := s.chain(b.values[s.Name].String()) // the expression was parsed before without an error
		output := o.Arguments[slices.IndexFunc(o.Arguments, func(a ArgumentSpec) bool { return a.Role.Compared() })]
		for i, t := range c.operands {
			if what := o.calls(t.name); what != "" {
				b.refuse("call it otherwise, as "+strings.Replace(c.items[i], "[", "_[", 1),
					"`%s`: `%s` names a tensor `%s`, and %s has a %s of that name", s.Name, c.items[i], t.name, o.Name, what)
			}
		}
		if len(c.operands) > 0 {
			more := lists.Of(c.operands, func(t operand) ArgumentSpec { return s.argument(t, output) })
			b.p.Operator = o.with(more, output.Name)
		}
	}
}

// calls returns what a name stands for in an operator ("tensor", "parameter", ...), or "" if nothing has the name.
func (o *Operator) calls(name string) string {
	parameter := func(s ParameterSpec) bool { return s.Name == name || slices.Contains(s.Names, name) }
	switch {
	case slices.Contains(o.Shape, name):
		return "dimension"
	case o.argument(name) >= 0:
		return "tensor"
	case slices.ContainsFunc(o.Parameters, parameter):
		return "parameter"
	case slices.ContainsFunc(o.Derived, func(d Definition) bool { return d.Name == name }):
		return "derived value"
	}
	return ""
}

// with returns a copy of the operator with further tensors, which become the last arguments of the launches that store
// the output.
func (o *Operator) with(more []ArgumentSpec, output string) *Operator {
	extended := *o
	extended.plain = o
	extended.Arguments = slices.Concat(o.Arguments, more)
	names := lists.Of(more, func(a ArgumentSpec) string { return a.Name })
	extended.Templates = lists.Of(o.Templates, func(t *Template) *Template {
		all := *t
		all.Launches = lists.Of(t.Launches, func(s LaunchSpec) LaunchSpec {
			if slices.Contains(s.Arguments, output) {
				s.Arguments = slices.Concat(s.Arguments, names)
			}
			return s
		})
		return &all
	})
	return &extended
}

// Plain returns the operator without the tensors of a problem's epilogue.
func (o *Operator) Plain() *Operator { return cmp.Or(o.plain, o) }

// Epilogue returns the tensors that the problem's epilogue names, in the order in which kernels call them t0, t1 and so
// on. The tensors of an epilogue are the last arguments of the operator.
func (o *Operator) Epilogue() []ArgumentSpec {
	if o.plain == nil {
		return nil
	}
	return o.Arguments[len(o.plain.Arguments):]
}

// epilogueMacros returns macros that tell a kernel the type and the axes of each tensor of the epilogue.
func (p *Problem) epilogueMacros(s *ParameterSpec) (all []Macro) {
	c, _ := s.chain(p.Values[s.Name].String())
	add := func(name string, value any) {
		all = append(all, Macro{p.Operator.Macros.Macro(s.Name + "_" + name), fmt.Sprint(value)})
	}
	for i, t := range c.operands {
		if i == 0 {
			add("tensors", len(c.operands))
		}
		add(fmt.Sprint(i, "_type"), p.Operator.Epilogue()[i].typeIn(p.Values))
		add(fmt.Sprint(i, "_axes"), s.mask(t))
	}
	return all
}

// epilogues checks that the `axes` of each expression parameter are the axes of the output. If a parameter chooses the
// output's order in memory, kernels treat all axes behind images and channels as one axis.
func (l *loader) epilogues(parameters *tree.Node) {
	output, _ := lists.First(l.o.Arguments, func(a ArgumentSpec) bool { return a.Role.Compared() })
	for i := range l.o.Parameters {
		s := &l.o.Parameters[i]
		if s.Axes == nil {
			continue
		}
		if output.OrderBy != "" {
			s.Apart = 2
		}
		if len(s.Axes) != len(output.Shape) {
			parameters.Get(s.Name).Refuse("`%s` has %d axes, and the output `%s` has %d",
				s.Name, len(s.Axes), output.Name, len(output.Shape))
		}
	}
}
