package expr

// Fold replaces names by their constants and operations on constants by their
// results, as far as that leaves the meaning as it is: what fails, fails later
// and only if it is reached.
func Fold(n *Node, constants map[string]Value) *Node {
	switch n.Op {
	case OpConst:
		return n
	case OpName:
		if v, ok := constants[n.Name]; ok {
			return constNode(n, v)
		}
		return n
	}
	folded := *n
	folded.Args = make([]*Node, len(n.Args))
	all := n.Op != OpTuple
	for i, a := range n.Args {
		folded.Args[i] = Fold(a, constants)
		all = all && isConst(folded.Args[i])
	}
	if all {
		c := compiler{}
		if run, err := c.generate(&folded); err == nil {
			if v, err := run(nil); err == nil {
				return constNode(n, v)
			}
		}
	}
	return shortCircuit(&folded)
}

func constNode(n *Node, v Value) *Node {
	return &Node{Op: OpConst, Column: n.Column, Value: v}
}

// isConst also knows a tuple of constants.
func isConst(n *Node) bool {
	if n.Op == OpTuple {
		for _, a := range n.Args {
			if a.Op != OpConst {
				return false
			}
		}
		return true
	}
	return n.Op == OpConst
}

// shortCircuit drops operands of `and`, `or` and `if` that decide nothing.
func shortCircuit(n *Node) *Node {
	switch n.Op {
	case OpIf:
		if c := n.Args[0]; c.Op == OpConst {
			if c.Value.Truth() {
				return n.Args[1]
			}
			return n.Args[2]
		}
	case OpAnd, OpOr:
		var kept []*Node
		for i, a := range n.Args {
			last := i == len(n.Args)-1
			decides := a.Op == OpConst && a.Value.Truth() == (n.Op == OpOr)
			if a.Op != OpConst || decides || last {
				kept = append(kept, a)
			}
			if decides {
				break
			}
		}
		if len(kept) == 1 {
			return kept[0]
		}
		return &Node{Op: n.Op, Column: n.Column, Args: kept}
	}
	return n
}
