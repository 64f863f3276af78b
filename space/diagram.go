package space

import "sort"

// diagram is a part's decision diagram: a layered graph in which each path
// from the root to the end is a valid configuration. Layer l decides tunable
// order[l]; the end is the one node of the layer after the last.
//
// The edges of a node lie side by side, sorted by value. Each edge knows how
// many configurations lie under the edges before it at the same node. The
// number of a configuration is the sum of that along its path.
type diagram struct {
	order  []int    // layer -> tunable
	root   uint32   // meaningless when total is 0
	edges  []uint32 // node -> its first edge; one more entry ends the last node's
	value  []uint32 // edge -> index of the value
	target []uint32 // edge -> node
	before []int64  // edge -> configurations under the node's earlier edges
	total  int64
}

// unrank writes configuration number rank into choice, by tunable.
func (d *diagram) unrank(rank int64, choice []int) {
	node := d.root
	for _, tunable := range d.order {
		lo, hi := d.edges[node], d.edges[node+1]
		for hi-lo > 1 { // the last edge with before <= rank
			if mid := (lo + hi) / 2; d.before[mid] <= rank {
				lo = mid
			} else {
				hi = mid
			}
		}
		rank -= d.before[lo]
		choice[tunable] = int(d.value[lo])
		node = d.target[lo]
	}
}

// rank is the inverse of unrank; false if choice is no valid configuration.
func (d *diagram) rank(choice []int) (int64, bool) {
	if d.total == 0 {
		return 0, false
	}
	return d.rankFrom(0, d.root, choice)
}

// rankFrom sums up the path that choice takes from a node of a layer.
func (d *diagram) rankFrom(layer int, node uint32, choice []int) (int64, bool) {
	rank := int64(0)
	for _, tunable := range d.order[layer:] {
		e, ok := d.edge(node, choice[tunable])
		if !ok {
			return 0, false
		}
		rank += d.before[e]
		node = d.target[e]
	}
	return rank, true
}

// edge finds the edge of node that has a value.
func (d *diagram) edge(node uint32, value int) (uint32, bool) {
	lo, hi := d.edges[node], d.edges[node+1]
	i := lo + uint32(sort.Search(int(hi-lo), func(i int) bool { return int(d.value[lo+uint32(i)]) >= value }))
	return i, i < hi && int(d.value[i]) == value
}
