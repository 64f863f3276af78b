package space

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// layer is a layer of a diagram under construction: the edges of its nodes,
// whose targets are numbers within the layer below.
type layer struct {
	edges  []uint32 // node -> first edge, and one more
	value  []uint32
	target []uint32
}

// dead marks nodes from which no path leads to the end.
const dead = math.MaxUint32

// assembler turns layers into a diagram, from the end upwards: dead ends go,
// nodes below which the same configurations lie become one, and configurations
// are counted.
type assembler struct {
	*diagram
	counts []int64  // node -> configurations below it
	final  []uint32 // node of the layer below, as built -> node of the diagram
}

// assemble makes the diagram of layers that were built for an order. After the
// last layer there is one node, in which all paths end, or none: ends says how
// many.
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

// add puts a layer on top of those added before.
func (a *assembler) add(ctx context.Context, in *layer) error {
	nodes := len(in.edges) - 1
	first := uint32(len(a.counts))
	unique := newNumbers(nodes)
	mapped := make([]uint32, nodes)
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

// addEdges appends the edges of a node that lead to the end, and counts what
// lies below them.
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
