package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"autotune/operator"
)

// chainOperator computes elementwise functions behind no root.
const chainOperator = "elementwise"

// planner cuts a graph into regions.
type planner struct {
	index
	operators map[string]*operator.Operator
	taken     map[int]*Region // nodes in regions
	why       map[int]string  // nodes that regions cannot have
}

func newPlanner(g *Graph, find func(string) (*operator.Operator, error)) (*planner, error) {
	p := &planner{indexed(g), map[string]*operator.Operator{}, map[int]*Region{}, map[int]string{}}
	names := []string{chainOperator}
	for _, n := range g.Nodes {
		if n.Problem != nil {
			names = append(names, n.Problem.Operator)
		}
	}
	for _, name := range names {
		o, err := find(name)
		if err != nil {
			return nil, err
		}
		p.operators[name] = o
	}
	return p, nil
}

// regions are those of roots first, which take the chains behind them, and then of chains that are left.
func (p *planner) regions() (all []*Region) {
	for _, pass := range []func(i int) (*Region, error){p.root, p.chain} {
		for i := range p.graph.Nodes {
			if p.taken[i] != nil {
				continue
			}
			r, why := pass(i)
			if why != nil {
				p.why[i] = why.Error()
			}
			if r == nil {
				continue
			}
			all = append(all, r)
			for _, name := range r.Nodes {
				p.taken[p.producers[name]] = r
			}
		}
	}
	slices.SortFunc(all, func(a, b *Region) int {
		return cmp.Compare(p.producers[a.Output.Name], p.producers[b.Output.Name])
	})
	for i, r := range all {
		r.Name = fmt.Sprintf("region_%d", i+1)
	}
	return all
}

// root is the region of a call that an operator computes, with the longest chain behind it that its kernels can have.
func (p *planner) root(i int) (*Region, error) {
	n := &p.graph.Nodes[i]
	if n.Problem == nil || n.isPointwise() {
		return nil, nil
	}
	o := p.operators[n.Problem.Operator]
	g := &growth{planner: p, operator: o, root: i, first: i + 1, seed: n.Name, problem: *n.Problem}
	g.problem.Inputs = slices.Clone(g.problem.Inputs)
	for k := range g.problem.Inputs {
		g.throughTranspose(&g.problem.Inputs[k])
	}
	bound, err := g.bind(g.problem.Parameters)
	if err != nil {
		return nil, err
	}
	g.axes = bound.Output().Shape
	if r := g.longest(); r != nil {
		return r, nil
	}
	return g.region([]int{i})
}

// chain is the region of elementwise calls that begins with one, and with one of the tensors that it reads.
func (p *planner) chain(i int) (*Region, error) {
	n := &p.graph.Nodes[i]
	if !n.isPointwise() || n.is(casts) {
		return nil, nil
	}
	for seed := range n.Reads() {
		t := p.values[seed]
		kind := epilogueTypes[t.Type]
		if len(t.Values) == 1 || kind == "" || !slices.Equal(t.Shape, n.Results[0].Shape) || slices.Contains(t.Shape, 0) {
			continue
		}
		g := &growth{planner: p, operator: p.operators[chainOperator], root: -1, first: i, seed: seed,
			problem: Problem{Parameters: map[string]string{"type": kind}, Inputs: []Input{{Argument: "x", Value: seed}}}}
		if r := g.longest(); r != nil {
			return r, nil
		}
	}
	if p.why[i] == "" {
		p.why[i] = "no tensor that it reads has the result's shape and a type that kernels compute with"
	}
	return nil, nil
}

// throughTranspose has a problem read what is behind a transpose, where a parameter of the operator says so.
func (g *growth) throughTranspose(in *Input) {
	at := slices.IndexFunc(g.operator.Arguments, func(a operator.ArgumentSpec) bool { return a.Name == in.Argument })
	producer, made := g.producers[in.Value]
	if at < 0 || !made || g.operator.Arguments[at].SwappedBy() == "" {
		return
	}
	by, n := g.operator.Arguments[at].SwappedBy(), &g.graph.Nodes[producer]
	own, shape := g.values[in.Value].Shape, slices.Clone(in.Shape)
	if !n.swaps(len(own)) || !slices.Equal(own[len(own)-2:], shape[len(shape)-2:]) {
		return // other dimensions are swapped, or those are folded
	}
	g.problem.Parameters = with(g.problem.Parameters, by, fmt.Sprint(g.problem.Parameters[by] != "true"))
	last := len(shape) - 1
	shape[last-1], shape[last] = shape[last], shape[last-1]
	*in = Input{in.Argument, n.Arguments[0].Value, shape}
}

// swaps tells whether a call gives its first argument with the last two of its dimensions swapped.
func (n *Node) swaps(rank int) bool {
	name, _ := functionOf(n)
	switch {
	case rank < 2:
		return false
	case name == "t" || name == "numpy_T":
		return rank == 2
	case name == "transpose" && len(n.Arguments) == 3:
		a, _ := n.Arguments[1].Number()
		b, _ := n.Arguments[2].Number()
		first, second := (int(a)+rank)%rank, (int(b)+rank)%rank
		return min(first, second) == rank-2 && max(first, second) == rank-1
	}
	return name == "mT"
}

// reason says why no region has a node.
func (p *planner) reason(i int) string {
	n := &p.graph.Nodes[i]
	switch {
	case p.why[i] != "" && (n.isPointwise() || n.Problem != nil):
		return p.why[i]
	case n.Why != "":
		return n.Why
	case n.is(views) || n.is(strided):
		return "it is a view"
	case len(n.Mutates) > 0:
		return "it writes " + strings.Join(n.Mutates, " and ") + " in place"
	}
	return "no operator computes " + n.Function
}
