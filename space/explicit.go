package space

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"autotune/internal/lists"
)

// Listed contains the configurations of one template in a space that is built from lists.
type Listed struct {
	Template       string
	Tunables       []Tunable
	Configurations []Values
}

// Explicit builds a space of exactly the listed configurations, such as those of a recorded search, whose constraints
// are not known. Listed configurations are numbered by part, and within a part in lexicographic order of their values'
// indices. A configuration that is listed twice counts once.
func Explicit(lists ...Listed) (*Space, error) { return union(lists, Listed.part) }

func (l Listed) part() (*part, error) {
	return Part{Template: l.Template, Tunables: l.Tunables}.ready(func(p *part) (*diagram, error) {
		if len(l.Tunables) == 0 {
			return nil, errors.New("a list of configurations needs at least one tunable")
		}
		rows := make([][]int, len(l.Configurations))
		for i, values := range l.Configurations {
			var ok bool
			if rows[i], ok = p.choice(values); !ok {
				return nil, fmt.Errorf("configuration %s has other tunables or other values than those of the list", Configuration{l.Template, values})
			}
		}
		slices.SortFunc(rows, slices.Compare[[]int])
		rows = slices.CompactFunc(rows, slices.Equal[[]int])
		return assemble(context.Background(), lists.Places(len(l.Tunables)), prefixTree(rows, len(l.Tunables)), 1)
	})
}

// prefixTree returns layers, one for each tunable, in which each node stands for a common prefix of rows; assemble then
// merges equal nodes.
func prefixTree(rows [][]int, width int) []layer {
	layers := make([]layer, width)
	for r, row := range rows {
		from := 0
		if r > 0 {
			for rows[r-1][from] == row[from] {
				from++
			}
		}
		for l := from; l < width; l++ {
			at := &layers[l]
			if l > from || r == 0 {
				at.edges = append(at.edges, uint32(len(at.value)))
			}
			target := uint32(0)
			if l+1 < width {
				target = uint32(len(layers[l+1].edges)) // a node that the next round of the loop adds
			}
			at.value = append(at.value, uint32(row[l]))
			at.target = append(at.target, target)
		}
	}
	for l := range layers {
		layers[l].edges = append(layers[l].edges, uint32(len(layers[l].value)))
	}
	return layers
}
