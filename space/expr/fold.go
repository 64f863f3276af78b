package expr

import "slices"

// Folder replaces names by their constants or definitions, and operations on constants by their results. Folding
// preserves the meaning of an expression: an operation that fails is not folded, so that it fails only when it is
// evaluated. A subtree that several trees or definitions share is folded only once, and the folded trees share the
// result.
type Folder struct {
	Constants   map[string]Value
	Definitions map[string]*Expr // definitions may name each other, but not in a cycle

	folded  map[*Node]*Node
	program *Program // evaluates operations on constants
}

// Fold returns a folded copy of n, and does not change n.
func (f *Folder) Fold(n *Node) *Node {
	if n.Op == OpConst {
		return n
	}
	if f.folded == nil {
		f.folded, f.program = map[*Node]*Node{}, NewProgram()
	}
	m, ok := f.folded[n]
	if !ok {
		m = f.fold(n)
		f.folded[n] = m
	}
	return m
}

func (f *Folder) fold(n *Node) *Node {
	if n.Op == OpName {
		if v, ok := f.Constants[n.Name]; ok {
			return constNode(n, v)
		}
		if d, ok := f.Definitions[n.Name]; ok {
			return f.Fold(d.root)
		}
		return n
	}
	folded := *n
	folded.Args = make([]*Node, len(n.Args))
	all := n.Op != OpTuple
	for i, a := range n.Args {
		folded.Args[i] = f.Fold(a)
		all = all && isConst(folded.Args[i])
	}
	if all {
		if x := f.program.lower(&folded, false); f.program.Constant(x) {
			return constNode(n, f.program.Slots[x])
		}
	}
	return shortCircuit(&folded)
}

func constNode(n *Node, v Value) *Node {
	return &Node{Op: OpConst, Column: n.Column, Value: v, source: n.source}
}

// isConst tells whether a node is a constant or a tuple of constants.
func isConst(n *Node) bool {
	if n.Op == OpTuple {
		return !slices.ContainsFunc(n.Args, func(a *Node) bool { return a.Op != OpConst })
	}
	return n.Op == OpConst
}

// shortCircuit drops the operands of `and`, `or` and `if` that cannot affect the result.
func shortCircuit(n *Node) *Node {
	if len(n.Args) == 0 || n.Args[0].Op != OpConst {
		return n
	}
	first := n.Args[0].Value.Truth()
	switch {
	case n.Op == OpIf && first, n.Op == OpAnd && first, n.Op == OpOr && !first:
		return n.Args[1]
	case n.Op == OpIf:
		return n.Args[2]
	case n.Op == OpAnd, n.Op == OpOr:
		return n.Args[0]
	}
	return n
}

// DependencyOrder sorts names so that each comes after the names that it needs. If names need each other in a cycle,
// DependencyOrder returns the cycle instead, for example a, b, a.
func DependencyOrder(names []string, needs func(name string) []string) (order, cycle []string) {
	var path []string
	var visit func(name string) bool
	visit = func(name string) bool {
		if slices.Contains(order, name) {
			return true
		}
		if i := slices.Index(path, name); i >= 0 {
			cycle = append(slices.Clone(path[i:]), name)
			return false
		}
		path = append(path, name)
		for _, need := range needs(name) {
			if slices.Contains(names, need) && !visit(need) {
				return false
			}
		}
		path = path[:len(path)-1]
		order = append(order, name)
		return true
	}
	for _, name := range names {
		if !visit(name) {
			return nil, cycle
		}
	}
	return order, nil
}
