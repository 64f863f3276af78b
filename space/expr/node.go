package expr

import (
	"slices"

	"autotune/internal/lists"
)

// Op says what a Node or a Term computes. The table operators has a row for each.
type Op uint8

// The operations of a Node. A comparison has one operand more than it has Links.
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
	OpCompare // Args: operands, left to right; Links: what stands between them
	OpTuple   // only as the last operand of `in` and `not in`

	// The functions.
	OpAbs
	OpBool
	OpCeilDiv
	OpFloat
	OpGcd
	OpInt
	OpMax
	OpMin
	OpRound

	// OpCall is a call of a function that ParseCalls was given, by Name. It has no value.
	OpCall
)

// Comparisons are links of a Node, and operations of a Term.
const (
	OpEq Op = OpCall + 1 + iota
	OpNe
	OpLt
	OpLe
	opGt
	opGe
	OpIn
	opNotIn

	// Operations that only a Term has.
	opEither // `or` that evaluates both operands
	opPick   // the value that stands at a place of a list
)

// comparison gives the comparison that is written so.
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
	Column int     // where in the source the operation stands, 1-based
	Args   []*Node // operands
	Links  []Op    // of OpCompare
	Name   string  // of OpName and OpCall
	Value  Value   // of OpConst

	source string // the text that Column counts in
}

// Conjuncts splits `a and b and c`, and the chained comparison `a < b < c`, into the parts that must all be true for n
// to be true. They come in the order of evaluation. A chain's inner operands are evaluated twice then, which no one can
// see: expressions have no side effects.
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

// InOrder are the names in n as its text has them, each as often as it stands there.
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

// nameNodes lists the names in n. What n holds several times is visited once.
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
