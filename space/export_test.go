package space

// Nodes is the size of the decision diagrams: memory and the time to build are
// proportional to it.
func (s *Space) Nodes() int {
	n := 0
	for _, p := range s.parts {
		n += len(p.diagram.edges) - 1
	}
	return n
}
