package space

import (
	"slices"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// Dim describes one column of the numbers that Features returns.
type Dim struct {
	Name        string // "template=direct" for a part, or the tunable's name
	Values      int    // how many values it takes: 2 for a part
	Categorical bool   // the distance between two values means nothing
}

// axes maps the tunables of parts to columns of Features. Tunables of several parts share a column of Features if they
// have the same name; the steps of the column are the values of all these tunables.
type axes struct {
	dims   []Dim
	hot    int           // how many columns say which part
	column [][]int       // part -> tunable -> column, or -1 for one that never varies
	scaled [][][]float64 // part -> tunable -> value -> position in [0, 1]
}

// absent is the number in the column of a tunable for configurations of a part that lacks the tunable.
const absent = 0.5

func newAxes(parts []*part) (a axes) {
	places := map[string]map[expr.Value]int{} // of the values that tunables of one name have in any part
	var names []string
	for _, p := range parts {
		if len(parts) > 1 {
			a.dims = append(a.dims, Dim{Name: "template=" + p.Template, Values: 2, Categorical: true})
		}
		for _, t := range p.Tunables {
			if places[t.Name] == nil {
				places[t.Name] = map[expr.Value]int{}
				names = append(names, t.Name)
			}
			for _, v := range t.Values {
				if _, known := places[t.Name][v.Canonical()]; !known {
					places[t.Name][v.Canonical()] = len(places[t.Name])
				}
			}
		}
	}
	a.hot = len(a.dims)
	columnOf := map[string]int{}
	for _, name := range names {
		columnOf[name] = -1
		if at := places[name]; len(at) > 1 {
			columnOf[name] = len(a.dims)
			a.dims = append(a.dims, Dim{Name: name, Values: len(at), Categorical: !sortNumbers(at)})
		}
	}
	for _, p := range parts {
		a.column = append(a.column, lists.Of(p.Tunables, func(t Tunable) int { return columnOf[t.Name] }))
		a.scaled = append(a.scaled, lists.Of(p.Tunables, func(t Tunable) []float64 {
			at := places[t.Name]
			return lists.Of(t.Values, func(v expr.Value) float64 { return along(at[v.Canonical()], len(at)) })
		}))
	}
	return a
}

// sortNumbers numbers the values in increasing order, or returns false if any value is not a number.
func sortNumbers(at map[expr.Value]int) bool {
	values := make([]expr.Value, len(at))
	for v, i := range at {
		if v.Kind() == expr.KindString {
			return false
		}
		values[i] = v
	}
	slices.SortStableFunc(values, func(a, b expr.Value) int {
		order, _ := a.Compare(b)
		return order
	})
	for i, v := range values {
		at[v] = i
	}
	return true
}

// Dims describes the columns of Features: one for each part (none if there is only one part), then one for each tunable
// with several values, in declared order.
func (s *Space) Dims() []Dim { return slices.Clone(s.axes.dims) }

// Features appends configuration i to dst as numbers in [0, 1], one for each Dim. The column of a part contains 1 if
// configuration i belongs to the part, otherwise 0. The column of a tunable contains the rank of the value among all
// values of tunables with the same name; strings rank in declared order. The column of a tunable is 0.5 if the template
// of configuration i has no tunable of that name.
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
	for k, v := range s.Choice(i) {
		if c := s.axes.column[p][k]; c >= 0 {
			row[c] = s.axes.scaled[p][k][v]
		}
	}
	return dst
}
