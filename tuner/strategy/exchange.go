package strategy

import (
	"slices"

	"autotune/space"
	"autotune/space/expr"
)

// doubles knows for each value of a tunable which one is twice as large: its
// index by part, tunable and value, -1 for none.
type doubles [][][]int

func newDoubles(parts []space.Part) doubles {
	d := make(doubles, len(parts))
	for p, part := range parts {
		for _, t := range part.Tunables {
			twice := slices.Repeat([]int{-1}, len(t.Values))
			for i, v := range t.Values {
				if n, ok := v.AsInt(); ok && n > 0 {
					twice[i] = slices.IndexFunc(t.Values, expr.Int(2*n).Equal)
				}
			}
			d[p] = append(d[p], twice)
		}
	}
	return d
}

// exchanges lists the configurations that have one tunable doubled and another
// halved. Many limits and costs depend on a product, such as the threads of a
// block: at a good one, another shape is close by, but two tunables away.
func (a *archive) exchanges(id int64) []int64 {
	part := a.space.PartOf(id)
	choice := a.space.Choice(id, nil)
	twice := a.doubles[part]
	var found []int64
	for up, from := range choice {
		if twice[up][from] < 0 {
			continue
		}
		for down, half := range choice {
			to := slices.Index(twice[down], half)
			if up == down || to < 0 {
				continue
			}
			choice[up], choice[down] = twice[up][from], to
			if near, ok := a.space.IndexOf(part, choice); ok {
				found = append(found, near)
			}
			choice[up], choice[down] = from, half
		}
	}
	return found
}

// vicinity lists all that is close to a configuration: one tunable changed by any
// amount, or two exchanged.
func (a *archive) vicinity(id int64) []int64 {
	return append(a.space.Neighbours(id, space.Hamming), a.exchanges(id)...)
}
