package expr

import (
	"fmt"
	"slices"
	"strings"
)

// EvalError says where evaluating an expression failed and why.
type EvalError struct {
	Source  string
	Column  int // 1-based, in characters
	Message string
}

func (e *EvalError) Error() string {
	return fmt.Sprintf("%q, column %d: %s", shorten(e.Source), e.Column, e.Message)
}

// Program is a compiled expression whose names live in numbered slots. It is
// safe for concurrent use.
type Program struct {
	source string
	run    code
}

// code computes a value; an error has its column but not yet its source.
type code func(slots []Value) (Value, *EvalError)

// Eval evaluates the program over slots. It allocates nothing unless it fails;
// an error is an *EvalError.
func (p *Program) Eval(slots []Value) (Value, error) {
	v, err := p.run(slots)
	if err != nil {
		err.Source = p.source
		return Value{}, err
	}
	return v, nil
}

// Eval evaluates e with names taken from env. An error is an *EvalError.
func (e *Expr) Eval(env map[string]Value) (Value, error) {
	e.once.Do(func() {
		c := compiler{slots: map[string]int{}}
		for i, name := range e.names {
			c.slots[name] = i
		}
		run, _ := c.compile(e.root) // every name has its slot
		e.program = &Program{source: e.source, run: run}
	})
	var few [16]Value
	slots := few[:0]
	for _, name := range e.names {
		slots = append(slots, env[name])
	}
	return e.program.Eval(slots)
}

// Compile fixes where names live: those in constants are folded, the others
// are read from the slot that slots names. A name in neither is an *EvalError.
func (e *Expr) Compile(slots map[string]int, constants map[string]Value) (*Program, error) {
	c := compiler{slots: slots, constants: constants}
	run, err := c.compile(e.root)
	if err != nil {
		err.Source = e.source
		return nil, err
	}
	return &Program{source: e.source, run: run}, nil
}

type compiler struct {
	slots     map[string]int
	constants map[string]Value
}

func failure(n *Node, reason string) *EvalError {
	return &EvalError{Column: n.Column, Message: reason}
}

func constant(v Value) code {
	return func([]Value) (Value, *EvalError) { return v, nil }
}

// compile turns n into code and folds it if all its operands are constant. An
// operation that fails on constants stays code and fails when it is reached.
func (c *compiler) compile(n *Node) (code, *EvalError) {
	n = Fold(n, c.constants)
	return c.generate(n)
}

func (c *compiler) generate(n *Node) (code, *EvalError) {
	switch n.Op {
	case OpConst:
		return constant(n.Value), nil
	case OpName:
		return c.load(n)
	case OpCompare:
		return c.comparison(n)
	}
	args := make([]code, len(n.Args))
	for i, a := range n.Args {
		var err *EvalError
		if args[i], err = c.generate(a); err != nil {
			return nil, err
		}
	}
	switch n.Op {
	case OpAnd:
		return runSeries(args, false), nil
	case OpOr:
		return runSeries(args, true), nil
	case OpNot:
		return runNot(args[0]), nil
	case OpIf:
		return runIf(args[0], args[1], args[2]), nil
	case OpNeg:
		return runUnary(n, args[0], negate), nil
	case OpPlus:
		return runUnary(n, args[0], plus), nil
	case OpCall:
		return runCall(n, args), nil
	}
	return runBinary(n, args[0], args[1]), nil
}

func (c *compiler) load(n *Node) (code, *EvalError) {
	slot, ok := c.slots[n.Name]
	if !ok {
		return nil, failure(n, unknownName(n.Name, c.slots, c.constants))
	}
	missing := "unknown name '" + n.Name + "'"
	return func(slots []Value) (Value, *EvalError) {
		if slot < len(slots) && slots[slot].kind != KindNone {
			return slots[slot], nil
		}
		return Value{}, failure(n, missing)
	}, nil
}

func unknownName(name string, slots map[string]int, constants map[string]Value) string {
	var known []string
	for k := range slots {
		known = append(known, k)
	}
	for k := range constants {
		known = append(known, k)
	}
	if len(known) == 0 {
		return "unknown name '" + name + "'"
	}
	slices.Sort(known)
	return "unknown name '" + name + "': known are " + strings.Join(slices.Compact(known), ", ")
}

// runSeries is `and` (until false) and `or` (until true).
func runSeries(args []code, until bool) code {
	last := len(args) - 1
	return func(slots []Value) (Value, *EvalError) {
		for _, a := range args[:last] {
			if v, err := a(slots); err != nil || v.Truth() == until {
				return v, err
			}
		}
		return args[last](slots)
	}
}

func runNot(a code) code {
	return func(slots []Value) (Value, *EvalError) {
		v, err := a(slots)
		return Bool(!v.Truth()), err
	}
}

func runIf(condition, value, other code) code {
	return func(slots []Value) (Value, *EvalError) {
		v, err := condition(slots)
		switch {
		case err != nil:
			return v, err
		case v.Truth():
			return value(slots)
		}
		return other(slots)
	}
}

func runUnary(n *Node, a code, f func(Value) (Value, string)) code {
	return func(slots []Value) (Value, *EvalError) {
		v, err := a(slots)
		if err != nil {
			return v, err
		}
		v, reason := f(v)
		if reason != "" {
			return v, failure(n, reason)
		}
		return v, nil
	}
}

func runBinary(n *Node, left, right code) code {
	return runPair(n, left, right, func(a, b Value) (Value, string) { return binary(n.Op, a, b) })
}

func runPair(n *Node, left, right code, f func(a, b Value) (Value, string)) code {
	return func(slots []Value) (Value, *EvalError) {
		a, err := left(slots)
		if err != nil {
			return a, err
		}
		b, err := right(slots)
		if err != nil {
			return b, err
		}
		v, reason := f(a, b)
		if reason != "" {
			return v, failure(n, reason)
		}
		return v, nil
	}
}

func runCall(n *Node, args []code) code {
	switch n.Name {
	case "abs":
		return runUnary(n, args[0], absolute)
	case "bool":
		return runUnary(n, args[0], func(v Value) (Value, string) { return Bool(v.Truth()), "" })
	case "float":
		return runUnary(n, args[0], toFloat)
	case "int":
		return runUnary(n, args[0], toInt)
	case "ceil_div":
		return runPair(n, args[0], args[1], ceilDiv)
	case "round":
		if len(args) == 2 {
			return runPair(n, args[0], args[1], roundTo)
		}
		return runUnary(n, args[0], roundToInt)
	case "min":
		return runExtreme(n, args, -1)
	}
	return runExtreme(n, args, 1)
}

// runExtreme is min (sign -1) and max (sign 1): the first of equal ones wins.
func runExtreme(n *Node, args []code, sign int) code {
	return func(slots []Value) (Value, *EvalError) {
		best, err := args[0](slots)
		if err != nil {
			return best, err
		}
		for _, a := range args[1:] {
			v, err := a(slots)
			if err != nil {
				return v, err
			}
			order, ok := compare(v, best)
			if !ok {
				return v, failure(n, n.Name+"() cannot compare "+v.kind.String()+" and "+best.kind.String())
			}
			if order == sign {
				best = v
			}
		}
		return best, nil
	}
}

// comparison evaluates a chain left to right until one link is false.
func (c *compiler) comparison(n *Node) (code, *EvalError) {
	first, err := c.generate(n.Args[0])
	if err != nil {
		return nil, err
	}
	links := make([]link, len(n.Cmps))
	for i, cmp := range n.Cmps {
		if links[i], err = c.link(n, cmp, n.Args[i+1]); err != nil {
			return nil, err
		}
	}
	return func(slots []Value) (Value, *EvalError) {
		left, err := first(slots)
		if err != nil {
			return left, err
		}
		for _, l := range links {
			holds := false
			if left, holds, err = l(left, slots); err != nil || !holds {
				return Bool(false), err
			}
		}
		return Bool(true), nil
	}, nil
}

// link compares left with its right operand, which it returns.
type link func(left Value, slots []Value) (right Value, holds bool, err *EvalError)

func (c *compiler) link(n *Node, cmp Cmp, right *Node) (link, *EvalError) {
	if right.Op == OpTuple {
		return c.membership(cmp, right)
	}
	operand, err := c.generate(right)
	if err != nil {
		return nil, err
	}
	return func(left Value, slots []Value) (Value, bool, *EvalError) {
		v, err := operand(slots)
		if err != nil {
			return v, false, err
		}
		holds, reason := compareWith(cmp, left, v)
		if reason != "" {
			return v, false, failure(n, reason)
		}
		return v, holds, nil
	}, nil
}

// membership is `in` and `not in` a tuple.
func (c *compiler) membership(cmp Cmp, tuple *Node) (link, *EvalError) {
	items := make([]code, len(tuple.Args))
	for i, a := range tuple.Args {
		var err *EvalError
		if items[i], err = c.generate(a); err != nil {
			return nil, err
		}
	}
	return func(left Value, slots []Value) (Value, bool, *EvalError) {
		found := false
		for _, item := range items { // Python evaluates every item
			v, err := item(slots)
			if err != nil {
				return v, false, err
			}
			found = found || equal(left, v)
		}
		return Value{}, found == (cmp == CmpIn), nil
	}, nil
}

// compareWith applies one comparison operator to two values.
func compareWith(cmp Cmp, a, b Value) (bool, string) {
	switch cmp {
	case CmpEq:
		return equal(a, b), ""
	case CmpNe:
		return !equal(a, b), ""
	case CmpIn, CmpNotIn:
		if a.kind != KindString || b.kind != KindString {
			return false, "'" + cmp.String() + "' takes a tuple, a list or two strings, not " + a.kind.String() + " and " + b.kind.String()
		}
		return strings.Contains(b.text, a.text) == (cmp == CmpIn), ""
	}
	order, ok := compare(a, b)
	if !ok {
		return false, "'" + cmp.String() + "' cannot compare " + a.kind.String() + " and " + b.kind.String()
	}
	return holds(cmp, order), ""
}

func holds(cmp Cmp, order int) bool {
	switch cmp {
	case CmpEq:
		return order == 0
	case CmpNe:
		return order != 0
	case CmpLt:
		return order == -1
	case CmpLe:
		return order == -1 || order == 0
	case CmpGt:
		return order == 1
	}
	return order == 1 || order == 0
}

// Build compiles a tree derived from e, such as one of its conjuncts after
// folding; its errors show e's source. All its names must be in slots.
func Build(e *Expr, n *Node, slots map[string]int) *Program {
	c := compiler{slots: slots}
	run, err := c.generate(n)
	if err != nil {
		run = func([]Value) (Value, *EvalError) { failed := *err; return Value{}, &failed }
	}
	return &Program{source: e.source, run: run}
}
