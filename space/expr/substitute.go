package expr

import (
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
)

// Macros are short names for values and functions in expressions. A `$` in a name stands for each of several axes.
// Expand replaces macros in the tree of an expression that ParseOpen read.
type Macros struct {
	Axes  []string
	Named map[string]Macro
}

// Macro is a named value, or a named function with parameters.
type Macro struct {
	Parameters []string // nil: the macro is a value
	Body       *Node
}

const (
	mostMade   = 1 << 12 // the most nodes of an expression after expansion
	mostNested = 32      // the deepest nesting of macros
)

// ParseOpen reads an expression with `$` in names and calls of any functions. The error of ParseOpen is a *SyntaxError.
func ParseOpen(src string) (*Node, error) {
	return (&parser{lexer: lexer{source: src, column: 1, open: true}}).whole()
}

// Open tells whether a name in n contains `$`.
func (n *Node) Open() bool {
	return slices.ContainsFunc(n.nameNodes(), func(m *Node) bool { return strings.Contains(m.Name, "$") })
}

// ColumnOf returns the source column of the first use of a name in n, where a name with `$` counts as the name that
// results when the axis replaces `$`. ColumnOf returns 0 if n does not contain name.
func (n *Node) ColumnOf(name, axis string) int {
	for _, m := range n.nameNodes() {
		if strings.ReplaceAll(m.Name, "$", axis) == name {
			return m.Column
		}
	}
	return 0
}

// For returns the expression n with every `$` replaced by the name of an axis, or n itself if axis is "".
func (n *Node) For(axis string) *Node {
	if axis == "" {
		return n
	}
	made := *n
	made.Name, made.Args = strings.ReplaceAll(n.Name, "$", axis), lists.Of(n.Args, func(a *Node) *Node { return a.For(axis) })
	return &made
}

// Expand returns n with its macros replaced, or n itself if it has none. Expand replaces every `$` in the result by the
// axis. If axis is "", Expand keeps every `$`, except in arguments of all, any, product, max and min: an argument with
// `$` is repeated for each axis.
func (m *Macros) Expand(n *Node, axis string) (expanded *Node, err error) {
	defer catch(&err)
	return (&expansion{Macros: m, axis: axis}).node(n), nil
}

// expansion is the state of a recursive Expand: the current axis, and the parameters of the function that is being
// expanded.
type expansion struct {
	*Macros
	axis       string
	within     bool             // inside an argument of all, any or product, where max and min use the same axis
	parameters map[string]*Node // of the function whose body is expanded
	nested     int
	made       *int // nodes made in the whole tree so far
}

func refuse(n *Node, format string, args ...any) {
	panic(&SyntaxError{fault{n.source, n.Column, fmt.Sprintf(format, args...)}})
}

// overAxes lists the functions (all, any and product) that combine the values for all axes by an operator.
var overAxes = map[string]Op{"all": OpAnd, "any": OpOr, "product": OpMul}

func (e *expansion) node(n *Node) *Node {
	if e.made == nil {
		e.made = new(int)
	}
	if *e.made++; *e.made > mostMade {
		refuse(n, "it has more than %d operations, with all that its names stand for", mostMade)
	}
	switch n.Op {
	case OpConst:
		return n
	case OpName:
		return e.name(n)
	case OpCall:
		return e.call(n)
	case OpMin, OpMax:
		if e.axis == "" && !e.within {
			return e.extreme(n)
		}
	}
	return e.with(n, lists.Of(n.Args, e.node))
}

// with returns n with its operands replaced, or n itself if the operands are the same.
func (e *expansion) with(n *Node, args []*Node) *Node {
	if slices.Equal(args, n.Args) {
		return n
	}
	made := *n
	made.Args = args
	return &made
}

func (e *expansion) name(n *Node) *Node {
	if argument, ok := e.parameters[n.Name]; ok {
		inner := *e
		inner.parameters = nil
		return inner.node(argument)
	}
	if e.axis != "" && strings.Contains(n.Name, "$") {
		made := *n
		made.Name, n = strings.ReplaceAll(n.Name, "$", e.axis), &made
	}
	if macro, ok := e.Named[n.Name]; ok {
		return e.body(n, macro)
	}
	return n
}

func (e *expansion) body(n *Node, macro Macro) *Node {
	if len(n.Args) != len(macro.Parameters) || (n.Op == OpCall) != (macro.Parameters != nil) {
		refuse(n, "`%s` takes %d arguments in brackets", n.Name, len(macro.Parameters))
	}
	inner := *e
	if inner.nested++; inner.nested > mostNested {
		refuse(n, "the values of `let` need each other")
	}
	inner.parameters = map[string]*Node{}
	for i, name := range macro.Parameters {
		outer := *e
		outer.axis, outer.within = "", true // `$` stays, for the body's functions over axes
		inner.parameters[name] = outer.node(n.Args[i])
	}
	return inner.node(macro.Body)
}

func (e *expansion) call(n *Node) *Node {
	if macro, ok := e.Named[n.Name]; ok {
		return e.body(n, macro)
	}
	op, ok := overAxes[n.Name]
	if !ok {
		known := append(known(functions), known(overAxes)...)
		refuse(n, "unknown function '%s': there are %s", n.Name, strings.Join(known, ", "))
	}
	all := e.eachAxis(n)
	joined := all[0]
	for _, one := range all[1:] {
		joined = &Node{Op: op, Column: n.Column, Args: []*Node{joined, one}, source: n.source}
	}
	return joined
}

// extreme expands a max or min. An argument that contains `$` is repeated for each axis in a max or min.
func (e *expansion) extreme(n *Node) *Node {
	args := e.eachAxis(n)
	if len(args) == 1 {
		return args[0]
	}
	return e.with(n, args)
}

// eachAxis returns the arguments of n, in which each argument with a `$` is repeated for each axis.
func (e *expansion) eachAxis(n *Node) (all []*Node) {
	inner := *e
	inner.within = true
	for _, argument := range n.Args {
		inner.axis = ""
		if one := inner.node(argument); !one.Open() {
			all = append(all, one)
			continue
		}
		for _, inner.axis = range e.Axes {
			all = append(all, inner.node(argument))
		}
	}
	if len(all) == 0 {
		refuse(n, "%s takes at least one argument", n.Name)
	}
	return all
}
