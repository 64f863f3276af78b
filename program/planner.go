package program

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"autotune/operator"
)

// chainOperator is the operator of elementwise functions behind no root, and chainParameter its expression.
const chainOperator, chainParameter, rootParameter = "elementwise", "f", "epilogue"

// planner cuts a graph into regions.
type planner struct {
	graph     *Graph
	operators func(name string) (*operator.Operator, error)
	values    map[string]Tensor
	producers map[string]int    // of a value: its node
	readers   map[string][]int  // of a value: the nodes
	bases     map[string]string // of views, the values whose memory they show
	outputs   map[string]bool
	taken     map[int]*Region // nodes in regions
	why       map[int]string  // nodes that regions cannot have
}

func newPlanner(g *Graph, operators func(string) (*operator.Operator, error)) *planner {
	p := &planner{g, operators, map[string]Tensor{}, map[string]int{}, map[string][]int{}, map[string]string{},
		map[string]bool{}, map[int]*Region{}, map[int]string{}}
	for _, t := range slices.Concat(g.Inputs, g.State) {
		p.values[t.Name] = t
	}
	for i, n := range g.Nodes {
		for _, t := range n.Results {
			p.values[t.Name], p.producers[t.Name] = t, i
			if name, _ := functionOf(&n); (views[name] || strided[name] || copies[name]) && len(n.Arguments) > 0 {
				p.bases[t.Name] = p.base(n.Arguments[0].Value)
			}
		}
		for name := range n.Reads() {
			if last := p.readers[name]; len(last) == 0 || last[len(last)-1] != i {
				p.readers[name] = append(last, i)
			}
		}
	}
	for _, name := range g.Outputs {
		p.outputs[name] = true
	}
	return p
}

func (p *planner) base(name string) string { return cmp.Or(p.bases[name], name) }

// plan makes regions of roots first, which take the chains behind them, and then of chains that are left.
func (p *planner) plan() (regions []*Region, err error) {
	for _, pass := range []func(i int) (*Region, error){p.root, p.chain} {
		for i := range p.graph.Nodes {
			if p.taken[i] != nil {
				continue
			}
			r, err := pass(i)
			if refused := (*operator.RequestError)(nil); err != nil && !errors.As(err, &refused) {
				return nil, err
			} else if err != nil {
				p.why[i] = err.Error()
			}
			if r != nil {
				regions = append(regions, r)
				for _, name := range r.Nodes {
					p.taken[p.producers[name]] = r
				}
			}
		}
	}
	slices.SortFunc(regions, func(a, b *Region) int {
		return cmp.Compare(p.producers[a.Output.Name], p.producers[b.Output.Name])
	})
	for i, r := range regions {
		r.Name = fmt.Sprintf("region_%d", i+1)
	}
	return regions, nil
}

// root is the region of a call that an operator computes, with the longest chain behind it that its kernels can have.
func (p *planner) root(i int) (*Region, error) {
	n := &p.graph.Nodes[i]
	if n.Problem == nil || n.isPointwise() {
		return nil, nil
	}
	o, err := p.operators(n.Problem.Operator)
	if err != nil {
		return nil, err
	}
	g := &growth{planner: p, operator: o, root: i, seed: n.Name, parameter: rootParameter}
	g.spec, _ = parameterOf(o, rootParameter)
	g.problem = *n.Problem
	g.problem.Inputs = slices.Clone(g.problem.Inputs)
	p.throughTransposes(o, &g.problem)
	return g.longest()
}

// chain is the region of elementwise calls that are functions of one value.
func (p *planner) chain(i int) (*Region, error) {
	n := &p.graph.Nodes[i]
	if !n.isPointwise() || n.isCast() {
		return nil, nil
	}
	o, err := p.operators(chainOperator)
	if err != nil {
		return nil, err
	}
	for seed := range n.Reads() {
		t := p.values[seed]
		if p.constant(seed) || !slices.Equal(t.Shape, n.Results[0].Shape) || epilogueTypes[t.Type] == "" {
			continue
		}
		size, err := elements(t.Shape)
		if err != nil || size == 0 {
			continue
		}
		g := &growth{planner: p, operator: o, root: -1, seed: seed, first: i, parameter: chainParameter}
		g.spec, _ = parameterOf(o, chainParameter)
		g.problem = Problem{chainOperator, nil, map[string]string{"type": epilogueTypes[t.Type]}, []Input{{"x", seed, nil}}}
		if r, err := g.longest(); r != nil || err != nil {
			return r, err
		}
		p.why[i] = cmp.Or(p.why[i], "its value is of another type")
	}
	if p.why[i] == "" {
		p.why[i] = "no tensor of its arguments has the result's shape and type"
	}
	return nil, nil
}

// parameterOf is an operator's parameter of expressions.
func parameterOf(o *operator.Operator, name string) (operator.ParameterSpec, bool) {
	at := slices.IndexFunc(o.Parameters, func(s operator.ParameterSpec) bool { return s.Name == name })
	if at < 0 {
		return operator.ParameterSpec{}, false
	}
	return o.Parameters[at], true
}

// constant tells whether a value is one number that the graph knows.
func (p *planner) constant(name string) bool { return len(p.values[name].Values) == 1 }

// swaps tells whether a call gives its first argument with the last two dimensions swapped.
func (p *planner) swaps(n *Node) bool {
	name, _ := functionOf(n)
	given := p.values[n.Arguments[0].Value].Shape
	rank := int64(len(given))
	switch name {
	case "t", "numpy_T":
		return rank == 2
	case "mT":
		return rank >= 2
	case "transpose", "swapaxes":
		a, _ := n.Arguments[1].Number()
		b, _ := n.Arguments[2].Number()
		first, second := int64(a), int64(b)
		if first < 0 {
			first += rank
		}
		if second < 0 {
			second += rank
		}
		return min(first, second) == rank-2 && max(first, second) == rank-1
	}
	return false
}

// throughTransposes has a problem read what is behind transposes, where a parameter of the operator says so.
func (p *planner) throughTransposes(o *operator.Operator, problem *Problem) {
	for i, in := range problem.Inputs {
		at := slices.IndexFunc(o.Arguments, func(a operator.ArgumentSpec) bool { return a.Name == in.Argument })
		producer, made := p.producers[in.Value]
		if at < 0 || !made || o.Arguments[at].SwappedBy() == "" || !p.swaps(&p.graph.Nodes[producer]) {
			continue
		}
		shape, last := slices.Clone(in.Shape), len(in.Shape)-1
		if own := p.values[in.Value].Shape; !slices.Equal(own, shape[len(shape)-len(own):]) {
			continue // folded, so that other dimensions are swapped
		}
		by := o.Arguments[at].SwappedBy()
		problem.Parameters = with(problem.Parameters, by, fmt.Sprint(problem.Parameters[by] != "true"))
		shape[last-1], shape[last] = shape[last], shape[last-1]
		problem.Inputs[i] = Input{in.Argument, p.graph.Nodes[producer].Arguments[0].Value, shape}
	}
}
