package space

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
)

// diagram is a part's decision diagram: a layered graph in which each path from the root to the end is a valid
// configuration. Layer l of a diagram has an edge for each value of tunable order[l], and the only node behind the last
// layer is the end.
//
// The edges of a diagram's node are stored one after another and sorted by value. Each edge stores the number of
// configurations that the earlier edges of the same node lead to. The number of a configuration is the sum of the
// counts that the edges along its path store.
type diagram struct {
	order  []int    // layer -> tunable
	root   uint32   // meaningless when total is 0
	edges  []uint32 // node -> its first edge; one more entry ends the last node's
	value  []uint32 // edge -> index of the value
	target []uint32 // edge -> the node it leads to
	before []int64  // edge -> configurations that the node's earlier edges lead to
	total  int64
}

// unrank computes the configuration with number `rank`, and stores the chosen value index of each tunable in `choice`.
func (d *diagram) unrank(rank int64, choice []int) {
	node := d.root
	for _, tunable := range d.order {
		lo, hi := d.edges[node], d.edges[node+1]
		for hi-lo > 1 { // find the last edge with before <= rank
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

// rank returns the number of the configuration with the given value indices, or false if that configuration is not
// valid.
func (d *diagram) rank(choice []int) (int64, bool) {
	if d.total == 0 {
		return 0, false
	}
	return d.rankFrom(0, d.root, choice)
}

// rankFrom returns false if the diagram has no edge for one of the chosen values.
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

func (d *diagram) edge(node uint32, value int) (uint32, bool) {
	lo, hi := d.edges[node], d.edges[node+1]
	i := lo + uint32(sort.Search(int(hi-lo), func(i int) bool { return int(d.value[lo+uint32(i)]) >= value }))
	return i, i < hi && int(d.value[i]) == value
}

// layer is a layer of a diagram under construction. An edge's target is the number of a node within the next layer.
type layer struct {
	edges  []uint32 // node -> first edge, and one more
	value  []uint32
	target []uint32
}

// dead marks nodes from which no path leads to the end.
const dead = math.MaxUint32

// assembler turns layers into a diagram, from the end upwards. The assembler removes nodes that do not lead to the end,
// merges nodes that lead to the same configurations, and counts the configurations.
type assembler struct {
	*diagram
	counts []int64  // node -> configurations that the node leads to
	final  []uint32 // node of the layer below, as built -> node of the diagram
}

// The argument `ends` is 1 if some path reaches the end of the diagram, otherwise 0.
func assemble(ctx context.Context, order []int, layers []layer, ends int) (*diagram, error) {
	a := &assembler{diagram: &diagram{order: order, edges: []uint32{0, 0}}, counts: []int64{1}}
	a.final = make([]uint32, ends) // node 0 of the diagram is the end
	for l := len(layers) - 1; l >= 0; l-- {
		if err := a.add(ctx, &layers[l]); err != nil {
			return nil, err
		}
		layers[l] = layer{} // free it
	}
	if len(a.final) > 0 && a.final[0] != dead {
		a.root = a.final[0]
		a.total = a.counts[a.root]
	}
	return a.diagram, nil
}

// add adds one layer to the diagram, above the layers that were added before, since the assembler begins at the end.
func (a *assembler) add(ctx context.Context, in *layer) error {
	nodes := len(in.edges) - 1
	first := uint32(len(a.counts))
	unique := newNumbers(nodes)
	mapped := make([]uint32, nodes)
	a.value, a.target = slices.Grow(a.value, len(in.value)), slices.Grow(a.target, len(in.value))
	a.before = slices.Grow(a.before, len(in.value))
	for n := range mapped {
		if n%stride == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		start := len(a.value)
		count, err := a.addEdges(in, n)
		if err != nil {
			return err
		}
		value, target := a.value[start:], a.target[start:]
		if len(value) == 0 {
			mapped[n] = dead
			continue
		}
		hash := uint64(len(value))
		for i := range value {
			hash = mix(hash, uint64(value[i])<<32|uint64(target[i]))
		}
		node, isNew := unique.of(hash, func(n uint32) bool {
			lo, hi := a.edges[first+n], a.edges[first+n+1]
			return slices.Equal(a.value[lo:hi], value) && slices.Equal(a.target[lo:hi], target)
		})
		mapped[n] = first + node
		if !isNew {
			a.value, a.target, a.before = a.value[:start], a.target[:start], a.before[:start]
			continue
		}
		a.counts = append(a.counts, count)
		a.edges = append(a.edges, uint32(len(a.value)))
	}
	a.final = mapped
	return nil
}

// addEdges appends the edges of a node that lead to the end, and counts the configurations that these edges lead to.
func (a *assembler) addEdges(in *layer, n int) (count int64, err error) {
	for e := in.edges[n]; e < in.edges[n+1]; e++ {
		t := a.final[in.target[e]]
		if t == dead {
			continue
		}
		a.value = append(a.value, in.value[e])
		a.target = append(a.target, t)
		a.before = append(a.before, count)
		if a.counts[t] > math.MaxInt64-count {
			return 0, fmt.Errorf("%w: more than 2^63 configurations", ErrTooLarge)
		}
		count += a.counts[t]
	}
	return count, nil
}

// numbers is a hash table with open addressing that gives distinct items the numbers 0, 1, 2 and so on; the caller
// stores the items.
type numbers struct {
	slots  []uint32 // 1 + a number, or 0
	hashes []uint64 // by number
}

func newNumbers(expected int) *numbers {
	size := 64
	for size < 2*expected {
		size *= 2
	}
	return &numbers{slots: make([]uint32, size)}
}

func (x *numbers) len() int { return len(x.hashes) }

// of looks an item up by its hash and returns its number, or the next free number if the item is new; `same` compares
// the item with the item of a given number.
func (x *numbers) of(hash uint64, same func(uint32) bool) (n uint32, isNew bool) {
	mask := uint64(len(x.slots) - 1)
	at := hash & mask
	for ; x.slots[at] != 0; at = (at + 1) & mask {
		if n := x.slots[at] - 1; x.hashes[n] == hash && same(n) {
			return n, false
		}
	}
	x.hashes = append(x.hashes, hash)
	x.slots[at] = uint32(len(x.hashes))
	if 2*len(x.hashes) > len(x.slots) {
		x.grow()
	}
	return uint32(len(x.hashes) - 1), true
}

func (x *numbers) grow() {
	x.slots = make([]uint32, 2*len(x.slots))
	mask := uint64(len(x.slots) - 1)
	for n, hash := range x.hashes {
		at := hash & mask
		for x.slots[at] != 0 {
			at = (at + 1) & mask
		}
		x.slots[at] = uint32(n) + 1
	}
}

func mix(hash, word uint64) uint64 {
	hash = (hash ^ word) * 0x9e3779b97f4a7c15
	return hash ^ hash>>32
}
