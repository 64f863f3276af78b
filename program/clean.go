package program

import (
	"slices"
	"strings"
)

// views are functions whose results have the elements of the first argument in the same order.
var views = map[string]bool{
	"view": true, "reshape": true, "unsqueeze": true, "squeeze": true, "flatten": true, "unflatten": true,
	"_unsafe_view": true, "view_as": true, "reshape_as": true,
}

// strided are functions that give other views of their first argument.
var strided = map[string]bool{
	"transpose": true, "t": true, "numpy_T": true, "mT": true, "permute": true, "select": true, "slice": true,
	"narrow": true, "expand": true, "expand_as": true, "movedim": true, "swapaxes": true, "unbind": true, "split": true,
	"chunk": true, "split_with_sizes": true, "diagonal": true, "as_strided": true, "unfold": true,
}

// copies are functions that give their first argument or a copy of it.
var copies = map[string]bool{
	"contiguous": true, "clone": true, "detach": true, "detach_": true, "alias": true, "lift_fresh_copy": true,
	"lift_fresh": true, "lift": true, "to": true, "_to_copy": true, "type_as": true, "float": true, "half": true,
	"bfloat16": true, "dropout": true, "feature_dropout": true, "alpha_dropout": true, "mul": true, "div": true, "expand": true,
}

// cleaner takes from a graph what changes nothing.
type cleaner struct {
	values  map[string]Tensor
	bases   map[string]string // of a view the value whose memory it shows
	names   map[string]string // of dropped values, and of those that were written in place
	written map[string]bool   // values whose memory a call writes
	made    *Graph
	dropped []Dropped
}

// cleaned is the graph without identities, calls in place of new values and calls whose results nobody reads.
func cleaned(g *Graph) (*Graph, []Dropped) {
	made := *g
	made.Nodes = nil
	c := &cleaner{map[string]Tensor{}, map[string]string{}, map[string]string{}, map[string]bool{}, &made, nil}
	for _, t := range slices.Concat(g.Inputs, g.State) {
		c.values[t.Name] = t
	}
	for _, n := range g.Nodes {
		for _, t := range n.Results {
			c.values[t.Name] = t
		}
		if name, _ := functionOf(&n); len(n.Results) > 0 && len(n.Arguments) > 0 && (views[name] || strided[name] || copies[name]) {
			for _, t := range n.Results {
				c.bases[t.Name] = c.base(n.Arguments[0].Value)
			}
		}
		for _, name := range n.Mutates {
			c.written[c.base(name)] = true
		}
	}
	for _, n := range g.Nodes {
		c.node(n)
	}
	made.Outputs = nil
	for _, name := range g.Outputs {
		made.Outputs = append(made.Outputs, c.name(name))
	}
	c.removeUnread()
	return &made, c.dropped
}

func (c *cleaner) base(name string) string {
	if base, is := c.bases[name]; is {
		return base
	}
	return name
}

func (c *cleaner) name(name string) string {
	if other, renamed := c.names[name]; renamed {
		return other
	}
	return name
}

func (c *cleaner) node(n Node) {
	n = n.renamed(c.names)
	if of := c.identity(&n); of != "" {
		for old, now := range c.names {
			if now == n.Name {
				c.names[old] = of
			}
		}
		c.names[n.Name] = of
		c.dropped = append(c.dropped, Dropped{n.Name, "its value is that of " + of})
		return
	}
	if target := c.inPlaceOf(&n); target != "" {
		n.Function, n.Mutates = strings.Replace(n.Function, "_.", ".", 1), nil
		for old, now := range c.names {
			if now == target {
				c.names[old] = n.Name
			}
		}
		c.names[target] = n.Name
	}
	c.made.Nodes = append(c.made.Nodes, n)
}

// identity is the value that a call gives again; "" if it computes another.
func (c *cleaner) identity(n *Node) string {
	name, _ := functionOf(n)
	if len(n.Results) != 1 || len(n.Arguments) == 0 || !(copies[name] || views[name]) {
		return ""
	}
	of := n.Arguments[0].Value
	given, made := c.values[of], n.Results[0]
	alike := given.Type == made.Type && slices.Equal(given.Shape, made.Shape) && slices.Equal(given.Strides, made.Strides)
	if of == "" || !alike || c.written[c.base(of)] {
		return ""
	}
	switch name {
	case "dropout", "feature_dropout", "alpha_dropout":
		if len(n.Arguments) != 3 || !same(n.Arguments[1], Constant(int64(0))) && n.Arguments[2].Constant != false {
			return ""
		}
	case "mul", "div":
		if len(n.Arguments) != 2 || len(n.Keywords) > 0 || !same(n.Arguments[1], Constant(int64(1))) {
			return ""
		}
	}
	return of
}

// inPlaceOf is the value that a call computes in its place, where nobody sees that: it is a call's new result, and no view
// of it is there yet.
func (c *cleaner) inPlaceOf(n *Node) string {
	name, _ := functionOf(n)
	if !strings.HasSuffix(name, "_") || strings.HasSuffix(name, "__") || len(n.Mutates) != 1 || len(n.Results) != 1 {
		return ""
	}
	target := n.Mutates[0]
	for name := range n.Reads() {
		if c.values[name].Type != c.values[target].Type {
			return "" // a new value would have another type
		}
	}
	fresh := false
	for _, before := range c.made.Nodes {
		for _, t := range before.Results {
			fresh = fresh || t.Name == target && c.base(target) == target
			if t.Name != target && c.base(t.Name) == target {
				return ""
			}
		}
	}
	if !fresh {
		return ""
	}
	return target
}

// removeUnread takes away calls whose results nobody reads, and that write nothing.
func (c *cleaner) removeUnread() {
	read := map[string]bool{}
	for _, name := range c.made.Outputs {
		read[name] = true
	}
	var kept []Node
	for _, n := range slices.Backward(c.made.Nodes) {
		if !n.isRead(read) && len(n.Mutates) == 0 && len(n.Results) > 0 {
			c.dropped = append(c.dropped, Dropped{n.Name, "nothing reads it"})
			continue
		}
		for name := range n.Reads() {
			read[name] = true
		}
		kept = append(kept, n)
	}
	slices.Reverse(kept)
	c.made.Nodes = kept
}

func (n *Node) isRead(read map[string]bool) bool {
	return slices.ContainsFunc(n.Results, func(t Tensor) bool { return read[t.Name] })
}

// renamed is the call with other names of values, where names has one.
func (n Node) renamed(names map[string]string) Node {
	arguments := make([]Argument, len(n.Arguments))
	for i, a := range n.Arguments {
		arguments[i] = a.renamed(names)
	}
	n.Arguments = arguments
	keywords := map[string]Argument{}
	for name, a := range n.Keywords {
		keywords[name] = a.renamed(names)
	}
	n.Keywords = keywords
	of := func(name string) string {
		return Argument{Value: name}.renamed(names).Value
	}
	mutates := slices.Clone(n.Mutates)
	for i, name := range mutates {
		mutates[i] = of(name)
	}
	n.Mutates = mutates
	if n.Problem != nil {
		p := *n.Problem
		p.Inputs = slices.Clone(p.Inputs)
		for i := range p.Inputs {
			p.Inputs[i].Value = of(p.Inputs[i].Value)
		}
		n.Problem = &p
	}
	return n
}
