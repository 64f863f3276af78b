package space

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Neighbours returns the numbers of the configurations of the same template that differ from configuration i in exactly
// one tunable, in increasing order.
func (s *Space) Neighbours(i int64) []int64 {
	p := s.PartOf(i)
	d, choice := s.parts[p].diagram, s.Choice(i)
	var found []int64
	node, before := d.root, s.first[p]
	for l, tunable := range d.order { // follow the path of choice and leave it at each layer in turn
		own, _ := d.edge(node, choice[tunable])
		for e := d.edges[node]; e < d.edges[node+1]; e++ {
			if rest, ok := d.rankFrom(l+1, d.target[e], choice); ok && e != own {
				found = append(found, before+d.before[e]+rest)
			}
		}
		before += d.before[own]
		node = d.target[own]
	}
	slices.Sort(found)
	return found
}

// along returns the position from 0 to 1 of the index `place` among n indices.
func along(place, n int) float64 { return float64(place) / float64(max(n-1, 1)) }

// Nearest returns the valid configuration of a part that is closest to the given positions, by the sum of squared
// differences. Among equally close configurations, Nearest returns the lowest number. A position says where a value
// lies in its tunable's list: 0 stands for the first declared value, 1 for the last. The positions that Nearest is
// given need not belong to a valid configuration, or lie within [0, 1]. Nearest returns false only for a part without
// valid configurations.
//
// Nearest searches a diagram completely if it has at most a few thousand nodes per layer, as nearly all diagrams have.
// In larger diagrams Nearest follows only the most promising nodes.
func (s *Space) Nearest(part int, positions []float64) (int64, bool) {
	p := s.parts[part]
	if p.diagram.total == 0 || len(positions) != len(p.Tunables) {
		return 0, false
	}
	cost := make([][]float64, len(p.Tunables))
	for k, t := range p.Tunables {
		cost[k] = make([]float64, len(t.Values))
		for v := range t.Values {
			d := along(v, len(t.Values)) - positions[k]
			cost[k][v] = d * d
		}
	}
	return s.first[part] + p.diagram.cheapest(cost), true
}

// beam is the largest number of nodes of a layer that cheapest keeps.
const beam = 4096

// reached is a node that cheapest has reached, with the cheapest path to it.
type reached struct {
	node uint32
	cost float64
	rank int64
}

// compare orders nodes by the cost of their paths, and nodes with equal cost by number.
func (r reached) compare(o reached) int {
	return cmp.Or(cmp.Compare(r.cost, o.cost), cmp.Compare(r.rank, o.rank))
}

// cheapest returns the number of the configuration with the least total cost, where cost[t][v] is the cost of value v
// of tunable t.
func (d *diagram) cheapest(cost [][]float64) int64 {
	layer := []reached{{node: d.root}}
	at := map[uint32]int{}
	for _, tunable := range d.order {
		var next []reached
		clear(at)
		for _, r := range layer {
			for e := d.edges[r.node]; e < d.edges[r.node+1]; e++ {
				to := reached{d.target[e], r.cost + cost[tunable][d.value[e]], r.rank + d.before[e]}
				i, seen := at[to.node]
				switch {
				case !seen:
					at[to.node] = len(next)
					next = append(next, to)
				case to.compare(next[i]) < 0:
					next[i] = to
				}
			}
		}
		if layer = next; len(layer) > beam {
			slices.SortFunc(layer, reached.compare)
			layer = layer[:beam]
		}
	}
	return layer[0].rank
}

// Sample draws n different configurations uniformly, in random order, or returns all if there are no more than n.
func (s *Space) Sample(rng *rand.Rand, n int) []int64 {
	n = int(min(int64(max(n, 0)), s.total))
	// Floyd's algorithm draws one number per configuration, even if n is close to the total.
	drawn := make([]int64, 0, n)
	taken := make(map[int64]bool, n)
	for top := s.total - int64(n); top < s.total; top++ {
		i := rng.Int64N(top + 1)
		if taken[i] {
			i = top
		}
		taken[i] = true
		drawn = append(drawn, i)
	}
	rng.Shuffle(n, func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn
}
