package program

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/operator"
)

// growth is a region while it grows from its root over the calls behind it.
type growth struct {
	*planner
	operator *operator.Operator
	problem  Problem                 // of the root
	root     int                     // -1: the region begins with a chain
	first    int                     // of the nodes that may be in the chain; without a root it must be
	seed     string                  // the value that is the expression's x
	axes     []int64                 // of the root's output
	spec     *operator.ParameterSpec // that has the expression; nil: the region has no chain
	terms    map[string]term
	tensors  map[string]beside // that terms name
}

// beside is a tensor beside the region's own values, as the expression names it in the end.
type beside struct {
	value    string
	brackets string
	shape    []int64 // of the problem, where the chain has no root
}

// longest is the region with as many calls behind the root as can be bound; nil: there is none.
func (g *growth) longest() *Region {
	for i, s := range g.operator.Parameters {
		if s.Type == operator.ExpressionParameter && (s.Axes != nil) == (g.root >= 0) {
			g.spec = &g.operator.Parameters[i]
		}
	}
	if g.spec == nil {
		return nil
	}
	reach := g.reach()
	for _, last := range slices.Backward(reach) {
		nodes := g.needed(last, reach)
		whole := g.root >= 0 || slices.Contains(nodes, g.first)
		if !whole || !g.closed(nodes) || !g.still(nodes) {
			continue
		}
		r, err := g.region(nodes)
		if err == nil {
			return r
		}
		g.why[last] = err.Error()
	}
	return nil
}

// reach are the calls that may be in the region, as far as their expressions go.
func (g *growth) reach() (nodes []int) {
	g.terms, g.tensors = map[string]term{g.seed: named("x")}, map[string]beside{}
	for i := g.first; i < len(g.graph.Nodes); i++ {
		n := &g.graph.Nodes[i]
		if g.taken[i] != nil || !slices.ContainsFunc(slices.Collect(n.Reads()), g.has) {
			continue
		}
		if t, err := g.term(n); err != nil {
			g.why[i] = err.Error()
		} else {
			g.terms[n.Name] = t
			nodes = append(nodes, i)
		}
	}
	return nodes
}

func (g *growth) has(name string) bool { _, known := g.terms[name]; return known }

// term is a call's value as an expression.
func (g *growth) term(n *Node) (t term, err error) {
	if n.isView() {
		return g.argument(n.Arguments[0], g.values[n.Arguments[0].Value].Shape)
	}
	if !n.isPointwise() || len(n.Mutates) > 0 {
		return t, fmt.Errorf("%s is no function of single elements that epilogues have", n.Function)
	}
	if n.is(casts) {
		return g.cast(n)
	}
	for _, line := range linesOf(n) {
		if given := line.given(n); given != nil {
			return g.line(n, line, given)
		}
	}
	return t, fmt.Errorf("%s is not what epilogues compute with these arguments", n.Function)
}

func (g *growth) line(n *Node, line pointwise, given map[string]Argument) (term, error) {
	terms := map[string]term{}
	for _, name := range line.body.Names() {
		t, err := g.argument(given[name], n.Results[0].Shape)
		if err != nil {
			return t, err
		}
		terms[name] = t
	}
	t, err := filled(line.body, terms)
	if err == nil && !t.isTruth() && epilogueTypes[n.Results[0].Type] == "" {
		err = fmt.Errorf("%s gives %s, which epilogues do not have", n.Function, n.Results[0].Type)
	}
	return t, err
}

// cast rounds to the narrower of two types.
func (g *growth) cast(n *Node) (term, error) {
	given := n.Arguments[0].Value
	t, known := g.terms[given]
	from, to := epilogueTypes[g.values[given].Type], epilogueTypes[n.Results[0].Type]
	if !known || from == "" || to == "" || t.isTruth() {
		return t, fmt.Errorf("%s gives %s, which epilogues do not have", n.Function, n.Results[0].Type)
	}
	for _, kind := range []string{from, to} {
		if kind != "f32" && t.Name != kind {
			t = called(kind, t)
		}
	}
	return t, nil
}

// argument is an argument of an elementwise call with some result as an expression.
func (g *growth) argument(a Argument, result []int64) (term, error) {
	if x, is := a.Number(); is {
		return number(x)
	}
	value := g.values[a.Value]
	switch t, known := g.terms[a.Value]; {
	case known && !slices.Equal(value.Shape, result):
		return t, errors.New("the value is broadcast to a larger one")
	case known:
		return t, nil
	case a.Value == "":
		return t, errors.New("an argument is neither a number nor a tensor")
	case len(value.Values) == 1:
		return number(value.Values[0])
	}
	return g.operand(value, result)
}

// operand is a tensor beside the region's own values, which is broadcast to a call's result.
func (g *growth) operand(value Tensor, result []int64) (_ term, err error) {
	kind, own := epilogueTypes[value.Type], epilogueTypes[g.values[g.seed].Type]
	t := beside{value: g.source(value.Name)}
	var names []string
	switch {
	case kind == "" || slices.Contains(value.Shape, 0):
		err = fmt.Errorf("%s is of %s, which epilogues do not have", value.Name, value.Type)
	case g.root < 0 && kind != own:
		err = fmt.Errorf("%s is of another type", value.Name)
	case g.root < 0:
		t.shape, err = threefold(value.Shape, result)
	default:
		var axes []int
		axes, err = covered(value.Shape, result, g.axes)
		names = bracketsOf(*g.spec, axes, g.axes)
	}
	if kind != own {
		names = append(names, kind)
	}
	t.brackets = "[" + strings.Join(names, ",") + "]"
	name := fmt.Sprint(t.value, t.brackets, t.shape)
	g.tensors[name] = t
	return named(name), err
}

// source is the value whose elements a value has in the same order, behind views that are in no region.
func (p *planner) source(name string) string {
	for {
		i, made := p.producers[name]
		if !made || p.taken[i] != nil || !p.graph.Nodes[i].isView() {
			return name
		}
		name = p.graph.Nodes[i].Arguments[0].Value
	}
}

// needed are the calls of the region that ends with one, in order.
func (g *growth) needed(last int, reach []int) []int {
	needed, nodes := map[int]bool{last: true}, []int{}
	for _, i := range slices.Backward(append([]int{g.root}, reach...)) {
		if !needed[i] {
			continue
		}
		nodes = append(nodes, i)
		for name := range g.graph.Nodes[i].Reads() {
			if producer, made := g.producers[name]; made && i != g.root && g.has(name) && (name != g.seed || g.root >= 0) {
				needed[producer] = true
			}
		}
	}
	slices.Reverse(nodes)
	return nodes
}

// closed tells whether only the last of a region's values is read elsewhere, and whether it is as the root's.
func (g *growth) closed(nodes []int) bool {
	last := g.graph.Nodes[nodes[len(nodes)-1]].Results[0]
	if seed := g.values[g.seed]; last.Type != seed.Type || last.Elements() != seed.Elements() {
		return false
	}
	for _, i := range nodes[:len(nodes)-1] {
		for _, t := range g.graph.Nodes[i].Results {
			outside := func(reader int) bool { return !slices.Contains(nodes, reader) }
			if slices.Contains(g.graph.Outputs, t.Name) || slices.ContainsFunc(g.readers[t.Name], outside) {
				return false
			}
		}
	}
	return true
}

// still tells whether the region's calls may all run where its last one stands: no other call writes what they read, or
// reads what they write, in between.
func (g *growth) still(nodes []int) bool {
	own := map[string]bool{} // true: written
	for _, i := range nodes {
		for name := range g.graph.Nodes[i].Reads() {
			own[g.base(name)] = own[g.base(name)] || false
		}
		for _, name := range g.graph.Nodes[i].Mutates {
			own[g.base(name)] = true
		}
	}
	for i := nodes[0]; i < nodes[len(nodes)-1]; i++ {
		n := &g.graph.Nodes[i]
		if slices.Contains(nodes, i) {
			continue
		}
		for name := range n.Reads() {
			if own[g.base(name)] {
				return false
			}
		}
		for _, name := range n.Mutates {
			if _, touched := own[g.base(name)]; touched {
				return false
			}
		}
	}
	return true
}

// rootless are the tensors that a chain without a root has beside x. They have numbers along one dimension of three.
var rootless = []string{"w", "b"}

// written is a term as problems have it, and the values of the tensors that it names.
func (g *growth) written(t term) (_ string, given map[string]string, err error) {
	given = map[string]string{}
	names, items := map[string]term{"x": named("x")}, t.InOrder()
	if g.root < 0 {
		g.problem.Shape = []int64{g.values[g.seed].Elements(), 1, 1}
	}
	for i, item := range items {
		tensor, is := g.tensors[item]
		if !is || slices.Contains(items[:i], item) {
			continue
		}
		name := fmt.Sprint("t", len(given))
		if names[item] = named(name + tensor.brackets); g.root < 0 {
			if len(given) == len(rootless) || len(given) > 0 && !slices.Equal(tensor.shape, g.problem.Shape) {
				return "", nil, errors.New("it computes with tensors of several shapes, behind no operator's call")
			}
			name, g.problem.Shape = rootless[len(given)], tensor.shape
			names[item] = named(name)
		}
		given[name] = tensor.value
	}
	t, err = filled(t.Node, names)
	if err != nil {
		return "", nil, err
	}
	return t.Source(), given, nil
}

// region binds the region of some calls.
func (g *growth) region(nodes []int) (_ *Region, err error) {
	r := &Region{Operator: g.operator.Name}
	last := &g.graph.Nodes[nodes[len(nodes)-1]]
	parameters, given := g.problem.Parameters, map[string]string{}
	if g.spec != nil {
		var text string
		if text, given, err = g.written(g.terms[last.Name]); err != nil {
			return nil, err
		}
		parameters = with(parameters, g.spec.Name, text)
	}
	if r.Problem, err = g.bind(parameters); err != nil {
		return nil, err
	}
	r.Output, r.Request = last.Results[0], g.request(parameters)
	for _, i := range nodes {
		n := &g.graph.Nodes[i]
		r.Nodes, r.Mutates = append(r.Nodes, n.Name), append(r.Mutates, n.Mutates...)
	}
	if g.spec != nil { // as the problem has it
		parameters[g.spec.Name] = r.Problem.Values[g.spec.Name].String()
	}
	for _, in := range g.problem.Inputs {
		given[in.Argument] = g.source(in.Value)
	}
	for _, a := range r.Problem.Arguments {
		if a.Role.Filled() && a.Elements > 0 {
			if given[a.Name] == "" {
				return nil, fmt.Errorf("the call has no %s, which kernels of %s write", a.Name, g.operator.Name)
			}
			r.Inputs = append(r.Inputs, Input{a.Name, given[a.Name], a.Shape})
		}
	}
	return r, nil
}

func (g *growth) request(parameters map[string]string) operator.Request {
	r := operator.Request{Shape: g.problem.Shape, Parameters: parameters}
	if len(g.operator.MathModes) > 1 {
		r.Math = "auto"
	}
	return r
}

func (g *growth) bind(parameters map[string]string) (*operator.Problem, error) {
	return g.operator.Bind(g.request(parameters), operator.TypicalLimits())
}

// with are parameters with another value of one.
func with(parameters map[string]string, name, value string) map[string]string {
	all := maps.Clone(parameters)
	all[name] = value
	return all
}
