package simulate

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"autotune/space"
	"autotune/space/expr"
)

// builder collects the rows of a file and numbers them as the space does.
type builder struct {
	lists []*list
}

func newBuilder() *builder { return &builder{} }

// list collects the rows of one template.
type list struct {
	space.Listed
	rows  []Row
	seen  map[string]bool
	value []map[expr.Value]int // by tunable
	text  []map[string]int     // likewise, as Python writes the value
}

func (b *builder) list(template string, tunables []space.Tunable) *list {
	l := &list{Listed: space.Listed{Template: template, Tunables: tunables}, seen: map[string]bool{}}
	for _, t := range tunables {
		value, text := map[expr.Value]int{}, map[string]int{}
		for i, v := range t.Values {
			value[canonical(v)] = i
			text[strings.ToLower(v.String())] = i // true is True in Python
		}
		l.value, l.text = append(l.value, value), append(l.text, text)
	}
	b.lists = append(b.lists, l)
	return l
}

// byValue finds which of tunable k's values v is.
func (l *list) byValue(k int, v expr.Value) (int, bool) {
	i, ok := l.value[k][canonical(v)]
	return i, ok
}

func (l *list) byText(k int, s string) (int, bool) {
	i, ok := l.text[k][strings.ToLower(strings.TrimSpace(s))]
	return i, ok
}

// add enters a configuration; of one that is recorded twice the first counts.
func (l *list) add(choice []int, row Row) {
	key := fmt.Sprint(choice)
	if l.seen[key] {
		return
	}
	l.seen[key] = true
	l.Choices = append(l.Choices, choice)
	l.rows = append(l.rows, row)
}

// recording builds the space and puts the rows in its order.
func (b *builder) recording() (*Recording, error) {
	var lists []space.Listed
	for _, l := range b.lists {
		lists = append(lists, l.Listed)
	}
	s, err := space.Explicit(lists...)
	if err != nil {
		return nil, err
	}
	r := &Recording{Space: s, Rows: make([]Row, s.Len())}
	valid := 0
	for p, l := range b.lists {
		for i, choice := range l.Choices {
			id, found := s.IndexOf(p, choice)
			if !found {
				return nil, fmt.Errorf("configuration %v is lost", choice)
			}
			r.Rows[id] = l.rows[i]
			if l.rows[i].OK {
				valid++
			}
		}
	}
	if valid < 2 {
		return nil, errors.New("fewer than two of its configurations have a time: there is nothing to search for")
	}
	return r, nil
}

// canonical gives values that Python takes as equal the same Value.
func canonical(v expr.Value) expr.Value {
	if i, ok := v.AsInt(); ok {
		return expr.Int(i)
	}
	if f, ok := v.AsFloat(); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return expr.Int(int64(f))
	}
	return v
}
