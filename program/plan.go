package program

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator"
)

// Plan is a program as steps, in the order of execution. Each node of the graph that was read stands in one step, is in
// a region, or was dropped.
type Plan struct {
	Graph   *Graph // without in-place calls and identities where that changes nothing: names of dropped ones are replaced
	Steps   []Step
	Dropped []Dropped
	before  []Dropped // from the graph, whatever the regions are
	why     map[string]string
}

// Dropped is a node that no step needs.
type Dropped struct {
	Node string
	Why  string // "its value is that of conv2d", "nothing reads it"
}

// Step is a region or a node that PyTorch computes.
type Step struct {
	Region *Region
	Node   *Node  // where Region is nil
	Why    string // why no region has the node
}

// Region is a part of the graph that one kernel computes: a problem of an operator, with what its arguments are.
type Region struct {
	Name     string   // "region_1", ... a Python identifier
	Nodes    []string // names of the nodes that it replaces, in order
	Operator string
	Request  operator.Request  // shape, parameters with the epilogue, math mode
	Problem  *operator.Problem // the request, bound to the limits of a typical GPU
	Inputs   []Input           // the tensors that the problem reads, in the order of its arguments: then the epilogue's
	Output   Tensor            // the value of the graph that it makes, a view of what the problem's output is
	Mutates  []string          // values that the kernel writes in place, as running statistics
}

// Input is a tensor that a problem reads: a value of the graph, seen in the shape that the problem's argument has. A
// tensor that a call leaves out, as a bias, has none.
type Input struct {
	Argument string  `json:"argument"` // the operator's, as "weight", or the epilogue's, as "t0"
	Value    string  `json:"value"`    // a name of the graph
	Shape    []int64 `json:"shape"`    // the argument's; a view of the value with the same elements in the same order
}

// NewPlan cuts a graph into regions, by operators that are found by their names.
func NewPlan(g *Graph, operators func(name string) (*operator.Operator, error)) (*Plan, error) {
	p := &Plan{why: map[string]string{}}
	p.Graph, p.before = cleaned(g)
	p.step(nil)
	p.before = p.Dropped
	p.Graph.Nodes = lists.Of(p.Steps, func(s Step) Node { return *s.Node })
	planner, err := newPlanner(p.Graph, operators)
	if err != nil {
		return nil, err
	}
	regions := planner.regions()
	for i, n := range p.Graph.Nodes {
		p.why[n.Name] = planner.reason(i)
	}
	p.step(regions)
	return p, nil
}

// step puts regions and the nodes beside them in order: a region stands where its last node stood. Nodes that nobody
// reads any more are dropped.
func (p *Plan) step(regions []*Region) {
	within, ends := map[string]bool{}, map[string]*Region{}
	for _, r := range regions {
		for _, name := range r.Nodes {
			within[name] = true
		}
		ends[r.Nodes[len(r.Nodes)-1]] = r
	}
	read := map[string]bool{}
	isRead := func(t Tensor) bool { return read[t.Name] }
	for _, name := range p.Graph.Outputs {
		read[name] = true
	}
	p.Steps, p.Dropped = nil, slices.Clone(p.before)
	for i := range slices.Backward(p.Graph.Nodes) {
		n := &p.Graph.Nodes[i]
		switch r := ends[n.Name]; {
		case r != nil:
			for _, in := range r.Inputs {
				read[in.Value] = true
			}
			p.Steps = append(p.Steps, Step{Region: r})
		case within[n.Name]:
		case len(n.Mutates) == 0 && len(n.Results) > 0 && !slices.ContainsFunc(n.Results, isRead):
			p.Dropped = append(p.Dropped, Dropped{n.Name, "nothing reads it"})
		default:
			for name := range n.Reads() {
				read[name] = true
			}
			p.Steps = append(p.Steps, Step{Node: n, Why: p.why[n.Name]})
		}
	}
	slices.Reverse(p.Steps)
}

// Regions are those of the steps, in order.
func (p *Plan) Regions() []*Region {
	steps := lists.Where(p.Steps, func(s Step) bool { return s.Region != nil })
	return lists.Of(steps, func(s Step) *Region { return s.Region })
}

// Without is the plan in which PyTorch computes the nodes of some regions.
func (p *Plan) Without(names ...string) (*Plan, error) {
	made := *p
	made.why = map[string]string{}
	maps.Copy(made.why, p.why)
	left := lists.Where(p.Regions(), func(r *Region) bool { return slices.Contains(names, r.Name) })
	if len(left) != len(names) {
		return nil, errors.New("the plan has no region of that name, or one is named twice: " + strings.Join(names, ", "))
	}
	for _, r := range left {
		for _, name := range r.Nodes {
			made.why[name] = r.Name + " was left out"
		}
	}
	made.step(lists.Where(p.Regions(), func(r *Region) bool { return !slices.Contains(left, r) }))
	return &made, nil
}

// String is the plan as a table: a line for each step, with the nodes that a region replaces, or why PyTorch has one.
func (p *Plan) String() string {
	var b strings.Builder
	for _, s := range p.Steps {
		if r := s.Region; r != nil {
			fmt.Fprintf(&b, "%-10s %s  for %s\n", r.Name, r.Problem, strings.Join(r.Nodes, ", "))
		} else {
			fmt.Fprintf(&b, "%-10s %s  %s: %s\n", "PyTorch", s.Node.Function, s.Node.Name, s.Why)
		}
	}
	return b.String()
}
