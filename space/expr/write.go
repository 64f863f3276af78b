package expr

import (
	"strings"

	"autotune/internal/lists"
)

// How tightly operations bind, from `if` to what stands in no need of parentheses.
const (
	bindsIf = iota
	bindsOr
	bindsAnd
	bindsNot
	bindsCompare
	bindsSum
	bindsProduct
	bindsSign
	bindsPower
	bindsNothing
)

// Source writes n as an expression that Parse reads, with no more parentheses than it needs. It
// is for trees that a Folder made, which no text has.
func (n *Node) Source() string {
	text, _ := n.write()
	return text
}

// within writes an operand of something that binds so tightly.
func (n *Node) within(least int) string {
	text, binds := n.write()
	if binds < least {
		return "(" + text + ")"
	}
	return text
}

// write gives the text and how tightly its outermost operation binds.
func (n *Node) write() (string, int) {
	symbol := n.Op.String()
	left := func(binds int) (string, int) {
		return n.Args[0].within(binds) + " " + symbol + " " + n.Args[1].within(binds+1), binds
	}
	switch n.Op {
	case OpConst:
		text := n.Value.Source()
		if strings.HasPrefix(text, "-") {
			return text, bindsSign
		}
		return text, bindsNothing
	case OpName:
		return n.Name, bindsNothing
	case OpTuple:
		return "(" + list(n.Args, ",") + ")", bindsNothing
	case OpIf:
		return n.Args[1].within(bindsOr) + " if " + n.Args[0].within(bindsOr) + " else " + n.Args[2].Source(), bindsIf
	case OpOr:
		return left(bindsOr)
	case OpAnd:
		return left(bindsAnd)
	case OpNot:
		return "not " + n.Args[0].within(bindsNot), bindsNot
	case OpCompare:
		text := n.Args[0].within(bindsSum)
		for i, c := range n.Cmps {
			text += " " + c.String() + " " + n.Args[i+1].within(bindsSum)
		}
		return text, bindsCompare
	case OpAdd, OpSub:
		return left(bindsSum)
	case OpMul, OpDiv, OpFloorDiv, OpMod:
		return left(bindsProduct)
	case OpNeg, OpPlus:
		return symbol + n.Args[0].within(bindsSign), bindsSign
	case OpPow:
		return n.Args[0].within(bindsNothing) + " ** " + n.Args[1].within(bindsSign), bindsPower
	case OpCall:
		symbol = n.Name
	}
	return symbol + "(" + list(n.Args, "") + ")", bindsNothing
}

// list writes operands with commas, and something behind a single one.
func list(args []*Node, behindOne string) string {
	items := lists.Of(args, (*Node).Source)
	if len(items) == 1 {
		return items[0] + behindOne
	}
	return strings.Join(items, ", ")
}
