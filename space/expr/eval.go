package expr

import (
	"maps"
	"slices"
	"strings"
)

// EvalError says where evaluating an expression failed and why.
type EvalError struct{ fault }

func failure(n *Node, reason string) error {
	return &EvalError{fault{n.source, n.Column, reason}}
}

// Eval evaluates e with names taken from env. An error is an *EvalError.
func (e *Expr) Eval(env map[string]Value) (Value, error) {
	return (&scope{env: env}).eval(e.root)
}

// Compile fixes where names live: those in constants are folded, the others
// are read from the slot that slots names. A name in neither is an *EvalError.
func (e *Expr) Compile(slots map[string]int, constants map[string]Value) (*Node, error) {
	root := (&Folder{Constants: constants, Slots: slots}).Fold(e.root)
	for _, n := range root.nameNodes() {
		if n.slot == 0 {
			return nil, failure(n, unknownName(n.Name, slots, constants))
		}
	}
	return root, nil
}

// Eval evaluates a tree that Compile or a Folder made, with the names that have
// a slot taken from slots. It allocates nothing unless it fails. An error is an
// *EvalError.
func (n *Node) Eval(slots []Value) (Value, error) {
	return (&scope{slots: slots}).eval(n)
}

func unknownName(name string, slots map[string]int, constants map[string]Value) string {
	known := slices.AppendSeq(slices.Collect(maps.Keys(slots)), maps.Keys(constants))
	if len(known) == 0 {
		return "unknown name '" + name + "'"
	}
	slices.Sort(known)
	return "unknown name '" + name + "': known are " + strings.Join(slices.Compact(known), ", ")
}

// scope says what names mean: those with a slot are in slots, the others in env.
type scope struct {
	slots []Value
	env   map[string]Value
}

func (s *scope) eval(n *Node) (Value, error) {
	switch n.Op {
	case OpConst:
		return n.Value, nil
	case OpName:
		return s.load(n)
	case OpCompare:
		return s.comparison(n)
	case OpCall:
		return Value{}, failure(n, n.Name+"() has no value here")
	}
	a, err := s.eval(n.Args[0])
	if err != nil {
		return a, err
	}
	switch n.Op {
	case OpNot:
		return Bool(!a.Truth()), nil
	case OpAnd, OpOr:
		if a.Truth() == (n.Op == OpOr) {
			return a, nil
		}
		return s.eval(n.Args[1])
	case OpIf:
		if a.Truth() {
			return s.eval(n.Args[1])
		}
		return s.eval(n.Args[2])
	}
	var v Value
	var reason string
	switch {
	case len(n.Args) == 1:
		v, reason = unary(n.Op, a)
	case n.Op == OpMin || n.Op == OpMax:
		return s.extreme(n, a)
	default:
		b, err := s.eval(n.Args[1])
		if err != nil {
			return b, err
		}
		v, reason = binary(n.Op, a, b)
	}
	if reason != "" {
		return v, failure(n, reason)
	}
	return v, nil
}

func (s *scope) load(n *Node) (Value, error) {
	v := Value{}
	switch {
	case n.slot == 0:
		v = s.env[n.Name]
	case n.slot <= len(s.slots):
		v = s.slots[n.slot-1]
	}
	if v.kind == KindNone {
		return v, failure(n, "unknown name '"+n.Name+"'")
	}
	return v, nil
}

// extreme is min and max: the first of equal ones wins.
func (s *scope) extreme(n *Node, best Value) (Value, error) {
	sign := 1
	if n.Op == OpMin {
		sign = -1
	}
	for _, a := range n.Args[1:] {
		v, err := s.eval(a)
		if err != nil {
			return v, err
		}
		order, ok := compare(v, best)
		if !ok {
			return v, failure(n, n.Op.String()+"() cannot compare "+v.kind.String()+" and "+best.kind.String())
		}
		if order == sign {
			best = v
		}
	}
	return best, nil
}

// comparison evaluates a chain left to right until one link is false.
func (s *scope) comparison(n *Node) (Value, error) {
	left, err := s.eval(n.Args[0])
	if err != nil {
		return left, err
	}
	for i, cmp := range n.Cmps {
		if right := n.Args[i+1]; right.Op == OpTuple { // the last of a chain
			found, err := s.member(left, right)
			return Bool(found == (cmp == CmpIn)), err
		}
		right, err := s.eval(n.Args[i+1])
		if err != nil {
			return right, err
		}
		holds, reason := compareWith(cmp, left, right)
		if reason != "" {
			return right, failure(n, reason)
		}
		if !holds {
			return Bool(false), nil
		}
		left = right
	}
	return Bool(true), nil
}

// member says whether a tuple holds v. Like Python it evaluates every item.
func (s *scope) member(v Value, tuple *Node) (found bool, err error) {
	for _, a := range tuple.Args {
		item, err := s.eval(a)
		if err != nil {
			return false, err
		}
		found = found || equal(v, item)
	}
	return found, nil
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
	switch cmp {
	case CmpLt:
		return order == -1, ""
	case CmpLe:
		return order == -1 || order == 0, ""
	case CmpGt:
		return order == 1, ""
	}
	return order == 1 || order == 0, ""
}
