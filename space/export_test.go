package space

import "context"

// Nodes returns the number of nodes of the space's decision diagrams. The memory of a diagram and the time to build it
// are proportional to the number of nodes.
func (s *Space) Nodes() int {
	n := 0
	for _, p := range s.parts {
		n += len(p.diagram.edges) - 1
	}
	return n
}

// NewWithin is New with a given limit on the nodes of a part's diagram.
func NewWithin(maxNodes int, parts ...Part) (*Space, error) {
	return union(parts, func(p Part) (*part, error) { return newPart(context.Background(), p, maxNodes) })
}
