package space

import "slices"

// Neighbourhood says which configurations are close to each other. Neighbours
// always belong to the same template.
type Neighbourhood int

const (
	// Hamming: exactly one tunable differs, by any amount.
	Hamming Neighbourhood = iota
	// Adjacent: exactly one tunable differs, and no valid configuration lies
	// between the two: its value is the next one up or down that is valid
	// with all others unchanged.
	Adjacent
)

// Neighbours returns the numbers of the neighbours of configuration i, in
// increasing order.
func (s *Space) Neighbours(i int64, kind Neighbourhood) []int64 {
	p := s.PartOf(i)
	ranks := s.parts[p].diagram.neighbours(s.Choice(i, nil), kind)
	for k := range ranks {
		ranks[k] += s.first[p]
	}
	slices.Sort(ranks)
	return ranks
}

// neighbours walks the path of choice and leaves it at each layer in turn.
func (d *diagram) neighbours(choice []int, kind Neighbourhood) []int64 {
	var found []int64
	node, rank := d.root, int64(0)
	for l, tunable := range d.order {
		own, _ := d.edge(node, choice[tunable])
		lo, hi := int(d.edges[node]), int(d.edges[node+1])
		for _, step := range []int{-1, 1} {
			for e := int(own) + step; lo <= e && e < hi; e += step {
				rest, ok := d.rankFrom(l+1, d.target[e], choice)
				if !ok {
					continue
				}
				found = append(found, rank+d.before[e]+rest)
				if kind == Adjacent {
					break
				}
			}
		}
		rank += d.before[own]
		node = d.target[own]
	}
	return found
}
