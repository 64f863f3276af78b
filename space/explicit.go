package space

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Listed is what one template contributes to a space that is given as a list:
// each choice holds the index of a value for each tunable.
type Listed struct {
	Template string
	Tunables []Tunable
	Choices  [][]int
}

// Explicit builds a space of exactly the listed configurations, such as those
// of a recorded search, whose constraints are not known. Nothing but the way
// it was made tells it from other spaces: configurations are numbered by part,
// and within a part in lexicographic order of their choices.
func Explicit(lists ...Listed) (*Space, error) { return union(lists, Listed.part) }

func (l Listed) part() (*part, error) {
	return Part{Template: l.Template, Tunables: l.Tunables}.ready(func() (*diagram, error) {
		if len(l.Tunables) == 0 {
			return nil, errors.New("a list of configurations needs at least one tunable")
		}
		sorted, err := l.sorted()
		if err != nil {
			return nil, err
		}
		return assemble(context.Background(), declared(len(l.Tunables)), prefixTree(sorted, len(l.Tunables)), 1)
	})
}

// sorted checks the choices and returns them in order.
func (l Listed) sorted() ([][]int, error) {
	for i, choice := range l.Choices {
		if len(choice) != len(l.Tunables) {
			return nil, fmt.Errorf("configuration %d has %d values for %d tunables", i+1, len(choice), len(l.Tunables))
		}
		for k, v := range choice {
			if v < 0 || v >= len(l.Tunables[k].Values) {
				return nil, fmt.Errorf("configuration %d: tunable %s has no value number %d, only 0 to %d",
					i+1, l.Tunables[k].Name, v, len(l.Tunables[k].Values)-1)
			}
		}
	}
	sorted := slices.Clone(l.Choices)
	slices.SortFunc(sorted, slices.Compare[[]int])
	for i := 1; i < len(sorted); i++ {
		if slices.Equal(sorted[i-1], sorted[i]) {
			return nil, fmt.Errorf("configuration %v is listed twice", sorted[i])
		}
	}
	return sorted, nil
}

// prefixTree makes a layer a tunable, in which each node stands for a prefix
// of the sorted rows. Merging equal suffixes is left to assemble.
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
				target = uint32(len(layers[l+1].edges)) // made in the next round
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
