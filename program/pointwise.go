package program

import (
	_ "embed"
	"fmt"
	"strings"

	"autotune/space/expr"
)

// The table of ATen's elementwise functions.
//
//go:embed pointwise.txt
var pointwiseTable string

// parameter is one of a function's in the table.
type parameter struct {
	name, usual, must string // usual "": it must be given; must "": any value
}

type pointwise struct {
	parameters []parameter
	body       *expr.Node
}

var pointwiseFunctions = readPointwise()

func readPointwise() map[string][]pointwise {
	all := map[string][]pointwise{}
	for line := range strings.Lines(pointwiseTable) {
		head, text, is := strings.Cut(strings.TrimSpace(line), ": ")
		if !is || line[0] == '#' {
			continue
		}
		words := strings.Fields(head)
		made := pointwise{}
		for _, word := range words[1:] {
			before, must, fixed := strings.Cut(word, "!")
			name, usual, _ := strings.Cut(before, "=")
			if fixed && must == "" {
				must = usual
			}
			made.parameters = append(made.parameters, parameter{name, usual, must})
		}
		body, err := expr.ParseOpen(text)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", line, err))
		}
		made.body = body
		for name := range strings.SplitSeq(words[0], "|") {
			all[name] = append(all[name], made)
		}
	}
	return all
}

// linesOf are the lines of the table for a call; nil: it is not elementwise.
func linesOf(n *Node) []pointwise {
	name, overload := functionOf(n)
	if own := pointwiseFunctions[overload]; own != nil {
		return own
	}
	return pointwiseFunctions[name]
}

func (n *Node) isPointwise() bool { return len(n.Results) == 1 && (n.is(casts) || linesOf(n) != nil) }

// given are a call's arguments by the line's parameters; nil: the call has others, or other values.
func (p pointwise) given(n *Node) map[string]Argument {
	given := map[string]Argument{}
	if len(n.Arguments) > len(p.parameters) {
		return nil
	}
	for i, a := range n.Arguments {
		given[p.parameters[i].name] = a
	}
	for name, a := range n.Keywords {
		given[name] = a
	}
	known := 0
	for _, s := range p.parameters {
		a, is := given[s.name]
		if is {
			known++
		} else if a = literal(s.usual); s.usual == "" {
			return nil
		}
		if s.must != "" && !same(a, literal(s.must)) {
			return nil
		}
		given[s.name] = a
	}
	if known < len(n.Arguments)+len(n.Keywords) {
		return nil
	}
	return given
}

// literal is a constant of the table.
func literal(text string) Argument {
	if text == "None" {
		return Argument{}
	}
	var a Argument
	if err := a.UnmarshalJSON([]byte(text + " ")); err != nil || text == "none" || text == "tanh" {
		return Argument{Constant: text}
	}
	return a
}

func same(a, b Argument) bool {
	x, isNumber := a.Number()
	if y, both := b.Number(); isNumber || both {
		return isNumber && both && x == y
	}
	return a.Value == "" && a.List == nil && a.Python == "" && b.Constant == a.Constant
}
