package space

import (
	"slices"

	"autotune/space/expr"
)

// Dim is one column of the numeric view that Features gives.
type Dim struct {
	Name        string // "template=direct" for a part, or the tunable's name
	Values      int    // how many values it takes: 2 for a part
	Categorical bool   // the distance between two values means nothing
}

// axes maps tunables of parts to columns of Features. Tunables of several
// parts with one name share a column, whose steps are the values of all.
type axes struct {
	dims   []Dim
	hot    int           // how many columns say which part
	column [][]int       // part -> tunable -> column, or -1 for one that never varies
	scaled [][][]float64 // part -> tunable -> value -> place in [0, 1]
}

// absent stands in the columns of tunables that a configuration's part lacks.
const absent = 0.5

func newAxes(parts []*part) axes {
	var a axes
	if len(parts) > 1 {
		for _, p := range parts {
			a.dims = append(a.dims, Dim{Name: "template=" + p.Template, Values: 2, Categorical: true})
		}
		a.hot = len(parts)
	}
	steps, names := valuesByName(parts)
	columnOf := map[string]int{}
	for _, name := range names {
		columnOf[name] = -1
		if values := steps[name]; len(values) > 1 {
			columnOf[name] = len(a.dims)
			a.dims = append(a.dims, Dim{Name: name, Values: len(values), Categorical: !sortNumbers(values)})
		}
	}
	for _, p := range parts {
		column := make([]int, len(p.Tunables))
		scaled := make([][]float64, len(p.Tunables))
		for k, t := range p.Tunables {
			column[k] = columnOf[t.Name]
			scaled[k] = places(t.Values, steps[t.Name])
		}
		a.column = append(a.column, column)
		a.scaled = append(a.scaled, scaled)
	}
	return a
}

// valuesByName collects the values that tunables of one name have in any part,
// and the names in the order in which they are first declared.
func valuesByName(parts []*part) (values map[string][]expr.Value, names []string) {
	values = map[string][]expr.Value{}
	seen := map[string]map[expr.Value]bool{}
	for _, p := range parts {
		for _, t := range p.Tunables {
			if seen[t.Name] == nil {
				seen[t.Name] = map[expr.Value]bool{}
				names = append(names, t.Name)
			}
			for _, v := range t.Values {
				if c := v.Canonical(); !seen[t.Name][c] {
					seen[t.Name][c] = true
					values[t.Name] = append(values[t.Name], c)
				}
			}
		}
	}
	return values, names
}

// sortNumbers sorts values in place if all are numbers and says whether so.
func sortNumbers(values []expr.Value) bool {
	for _, v := range values {
		if v.Kind() == expr.KindString {
			return false
		}
	}
	slices.SortStableFunc(values, func(a, b expr.Value) int {
		order, _ := a.Compare(b)
		return order
	})
	return true
}

// places gives each value its place among steps, scaled to [0, 1].
func places(values, steps []expr.Value) []float64 {
	at := make(map[expr.Value]int, len(steps))
	for i, v := range steps {
		at[v] = i
	}
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = float64(at[v.Canonical()]) / float64(max(len(steps)-1, 1))
	}
	return scaled
}

// Dims describes the columns of Features: which part, one column a part (none
// if there is only one), then each tunable that varies, in declared order.
func (s *Space) Dims() []Dim { return slices.Clone(s.axes.dims) }

// Features appends configuration i as numbers in [0, 1] to dst, one a Dim. A
// part's column is 1 for its configurations and 0 for others. A tunable's
// column is the place of its value among all values that tunables of this
// name have, in increasing order (strings: in declared order); 0.5 where the
// configuration's template has no such tunable.
func (s *Space) Features(i int64, dst []float64) []float64 {
	p := s.PartOf(i)
	start := len(dst)
	for k := range s.axes.dims {
		v := absent
		if k < s.axes.hot {
			v = 0
		}
		dst = append(dst, v)
	}
	row := dst[start:]
	if s.axes.hot > 0 {
		row[p] = 1
	}
	for k, v := range s.Choice(i, nil) {
		if c := s.axes.column[p][k]; c >= 0 {
			row[c] = s.axes.scaled[p][k][v]
		}
	}
	return dst
}
