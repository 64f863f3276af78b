package program

import (
	"slices"
	"strings"
)

// cleaner takes from a graph what changes nothing.
type cleaner struct {
	index
	names   map[string]string // of values: what has the value now
	written map[string]bool   // values whose memory a call writes
	nodes   []Node
	dropped []Dropped
}

// cleaned is the graph without identities, and with new values where calls write in place and nobody sees that.
func cleaned(g *Graph) (*Graph, []Dropped) {
	c := &cleaner{index: indexed(g), names: map[string]string{}, written: map[string]bool{}}
	for _, n := range g.Nodes {
		for _, name := range n.Mutates {
			c.written[c.base(name)] = true
		}
	}
	for _, n := range g.Nodes {
		n = n.renamed(c.names)
		if of := c.identity(&n); of != "" {
			c.rename(n.Name, of)
			c.dropped = append(c.dropped, Dropped{n.Name, "its value is that of " + of})
			continue
		}
		if c.isPrivate(&n) {
			c.rename(n.Mutates[0], n.Name)
			n.Function, n.Mutates = strings.Replace(n.Function, "_.", ".", 1), nil
		}
		c.nodes = append(c.nodes, n)
	}
	made := *g
	made.Nodes, made.Outputs = c.nodes, slices.Clone(g.Outputs)
	for i, name := range g.Outputs {
		made.Outputs[i] = Argument{Value: name}.renamed(c.names).Value
	}
	return &made, c.dropped
}

// rename has calls read another value from now on, also where they were to read the first instead of others.
func (c *cleaner) rename(old, now string) {
	for name, of := range c.names {
		if of == old {
			c.names[name] = now
		}
	}
	c.names[old] = now
}

// identity is the value that a call gives again; "" if it computes another.
func (c *cleaner) identity(n *Node) string {
	if len(n.Results) != 1 || len(n.Arguments) == 0 || !n.is(copies) && !n.is(views) {
		return ""
	}
	of := n.Arguments[0].Value
	given, made := c.values[of], n.Results[0]
	alike := given.Type == made.Type && slices.Equal(given.Shape, made.Shape) && slices.Equal(given.Strides, made.Strides)
	if of == "" || !alike || c.written[c.base(of)] {
		return ""
	}
	zero, one := Argument{Constant: int64(0)}, Argument{Constant: int64(1)}
	name, _ := functionOf(n)
	switch plain := len(n.Keywords) == 0; {
	case strings.HasSuffix(name, "dropout") &&
		(len(n.Arguments) != 3 || !same(n.Arguments[1], zero) && n.Arguments[2].Constant != false),
		(name == "mul" || name == "div") && !(plain && len(n.Arguments) == 2 && same(n.Arguments[1], one)):
		return ""
	}
	return of
}

// isPrivate tells whether a call writes in place what nobody sees: it is another call's new result, and has no view
// yet.
func (c *cleaner) isPrivate(n *Node) bool {
	name, _ := functionOf(n)
	if !strings.HasSuffix(name, "_") || strings.HasSuffix(name, "__") || len(n.Mutates) != 1 || len(n.Results) != 1 {
		return false
	}
	target, made := n.Mutates[0], false
	for name := range n.Reads() {
		if c.values[name].Type != c.values[target].Type {
			return false // a new value would have another type
		}
	}
	for _, before := range c.nodes {
		for _, t := range before.Results {
			if c.base(t.Name) == target {
				made = t.Name == target
				if !made {
					return false
				}
			}
		}
	}
	return made
}

// renamed is the call with other names of values, where names has one.
func (n Node) renamed(names map[string]string) Node {
	n.Arguments, n.Mutates = slices.Clone(n.Arguments), slices.Clone(n.Mutates)
	for i, a := range n.Arguments {
		n.Arguments[i] = a.renamed(names)
	}
	keywords := map[string]Argument{}
	for name, a := range n.Keywords {
		keywords[name] = a.renamed(names)
	}
	n.Keywords = keywords
	for i, name := range n.Mutates {
		n.Mutates[i] = Argument{Value: name}.renamed(names).Value
	}
	if n.Problem != nil {
		p := *n.Problem
		p.Inputs = slices.Clone(p.Inputs)
		for i, in := range p.Inputs {
			p.Inputs[i].Value = Argument{Value: in.Value}.renamed(names).Value
		}
		n.Problem = &p
	}
	return n
}
