package expr

import (
	"slices"

	"autotune/internal/lists"
)

// Op says what a Node or a Term computes. The table `operators` has a row for each Op.
type Op uint8

// An operation from OpConst to OpCall may be the Op of a Node. A comparison node has one more operand than comparison
// operators, which its field Links holds.
const (
	OpConst Op = iota
	OpName
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpFloorDiv
	OpMod
	OpPow
	OpNeg
	OpPlus
	OpNot
	OpAnd
	OpOr
	OpIf      // Args: condition, value if true, value otherwise
	OpCompare // Args: operands from left to right; Links: the comparison operators between them
	OpTuple   // only as the last operand of `in` and `not in`

	// The operations from OpAbs on are functions that expressions can call.
	OpAbs
	OpBool
	OpCeilDiv
	OpFloat
	OpGcd
	OpInt
	OpMax
	OpMin
	OpRound

	// OpCall is a call of one of the functions that ParseCalls was given; the field Name contains the function's name.
	// An expression that contains an OpCall cannot be evaluated.
	OpCall
)

// A comparison operator is either a link in a Node's chain of comparisons or the operation of a Term.
const (
	OpEq Op = OpCall + 1 + iota
	OpNe
	OpLt
	OpLe
	opGt
	opGe
	OpIn
	opNotIn

	// The operations opEither and opPick exist only in a Term.
	opEither // `or` that evaluates both operands
	opPick   // the value at an index of a list
)

// comparison returns the comparison operator that is written as `text`.
func comparison(text string) (Op, bool) {
	for op := OpEq; op <= opNotIn; op++ {
		if operators[op].name == text {
			return op, true
		}
	}
	return 0, false
}

// Node is a parsed expression as a tree. Nodes are never changed once built, so trees may share them.
type Node struct {
	Op     Op
	Column int     // where the operation is in the source, 1-based
	Args   []*Node // operands
	Links  []Op    // of OpCompare
	Name   string  // of OpName and OpCall
	Value  Value   // of OpConst

	source string // the text in which Column counts
}

// Conjuncts splits `a and b and c`, and the chained comparison `a < b < c`, into the parts that must all be true for n
// to be true, in order of evaluation. An inner operand of a chained comparison occurs in two of the parts that
// Conjuncts returns, which does no harm because expressions have no side effects.
func (n *Node) Conjuncts() (parts []*Node) {
	switch {
	case n.Op == OpAnd:
		for _, a := range n.Args {
			parts = append(parts, a.Conjuncts()...)
		}
	case n.Op == OpCompare && len(n.Links) > 1:
		for i := range n.Links {
			link := *n
			link.Args, link.Links = n.Args[i:i+2], n.Links[i:i+1]
			parts = append(parts, &link)
		}
	default:
		parts = append(parts, n)
	}
	return parts
}

func (n *Node) Names() []string {
	names := lists.Of(n.nameNodes(), func(m *Node) string { return m.Name })
	slices.Sort(names)
	return slices.Compact(names)
}

// InOrder returns all names in n in the order of its text, including repetitions.
func (n *Node) InOrder() []string {
	if n.Op == OpName {
		return []string{n.Name}
	}
	var names []string
	for _, a := range n.Args {
		names = append(names, a.InOrder()...)
	}
	return names
}

// nameNodes returns the nodes of n that are names. A subtree that occurs several times is visited once.
func (n *Node) nameNodes() (names []*Node) {
	seen := map[*Node]bool{}
	var visit func(*Node)
	visit = func(m *Node) {
		if m.Op == OpName {
			names = append(names, m)
		}
		if len(m.Args) == 0 || seen[m] {
			return
		}
		seen[m] = true
		for _, a := range m.Args {
			visit(a)
		}
	}
	visit(n)
	return names
}
