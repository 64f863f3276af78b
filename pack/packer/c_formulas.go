package packer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"autotune/internal/lists"
	"autotune/pack"
	"autotune/space/expr"
)

// cOperator is an operator in C. Its values are an array of 64-bit integers, with a place for each name. A word is
// stored as its index among the allowed words, a floating-point number as its bits.
type cOperator struct {
	*pack.Operator
	Index             int
	Given             []string // dimensions and components
	TypePlace, Output int

	pack  *cPack
	types map[string]int64
	place map[string]int      // of all names
	local map[string]string   // the names of a family's kernel, as expressions in C
	truth map[string]bool     // names whose values are true or false
	words map[string][]string // of the names whose values are words
	reals map[string]bool     // names of floating-point values; no formula computes with them
	fault *error              // what has no form in C
}

func newCOperator(o *pack.Operator, types map[string]int64) *cOperator {
	w := &cOperator{
		Operator: o, Given: slices.Clone(o.Shape), TypePlace: -1, types: types, place: map[string]int{}, words: map[string][]string{"math": o.Math},
		truth: map[string]bool{}, reals: map[string]bool{}, fault: new(error),
	}
	for _, s := range o.Parameters {
		for _, c := range s.Components {
			w.Given = append(w.Given, c.Name)
			w.truth[c.Name], w.reals[c.Name] = s.Type == "bool", s.Type == "float"
			if s.Type == "word" {
				w.words[c.Name] = s.Words
			}
		}
	}
	for _, name := range append(slices.Clone(w.Given), "arch", "math") {
		w.place[name] = len(w.place)
	}
	for _, d := range o.Derived {
		w.place[d.Name], w.truth[d.Name] = len(w.place), w.isTruth(d.Value.Root())
	}
	deep := false
	for _, s := range o.Tensors {
		if deep = deep || len(s.Shape) > mostRankInC; s.TypeBy != "" {
			w.TypePlace = w.place[s.TypeBy]
		}
	}
	w.Output = max(0, slices.IndexFunc(o.Tensors, func(s pack.TensorSpec) bool { return s.Role == "output" }))
	if len(w.place) > mostValuesInC || len(o.Tensors) > mostTensorsInC || deep {
		w.fail(fmt.Errorf("it has %d names and %d tensors; %d and %d are the most, and tensors have %d dimensions at most",
			len(w.place), len(o.Tensors), mostValuesInC, mostTensorsInC, mostRankInC))
	}
	return w
}

func (w *cOperator) fail(err error) { *w.fault = cmp.Or(*w.fault, err) }

// Place is that of a name's value, Mode that of a math mode, and Auto the mode that PyTorch would take.
func (w *cOperator) Place(name string) int { return w.place[name] }
func (w *cOperator) Mode(name string) int  { return slices.Index(w.Math, name) }
func (w *cOperator) Auto() string          { return w.text(w.MathAuto.Root(), w.Math, false) }

// IsReal tells whether a name's value is of floating point. WordsOf are those that it is one of; nil: it is no word.
func (w *cOperator) IsReal(name string) bool      { return w.reals[name] }
func (w *cOperator) WordsOf(name string) []string { return w.words[name] }

// Integer is a formula's value, and Holds whether it is true.
func (w *cOperator) Integer(f pack.Formula) string { return w.text(f.Root(), nil, false) }
func (w *cOperator) Holds(f pack.Formula) string   { return w.text(f.Root(), nil, true) }

// within is a formula's value, where one out of bounds is noted as bad.
func (w *cOperator) within(f pack.Formula, least, most int64) string {
	text := w.Integer(f)
	if n, isInt := f.Root().Value.AsInt(); most == math.MaxInt64 || isInt && least <= n && n <= most {
		return text
	}
	return fmt.Sprintf("within(%s, INT64_C(%d), INT64_C(%d), bad)", text, least, most)
}

func (w *cOperator) dialect() expr.Dialect {
	return expr.C(func(name string) string {
		if local, known := w.local[name]; known {
			return local
		}
		return fmt.Sprintf("v[%d]", w.place[name])
	})
}

// literal is a constant of C.
func (w *cOperator) literal(v expr.Value) string {
	text, err := w.dialect().Constant(v)
	w.fail(err)
	return text
}

// text writes a formula. A text in it becomes its index in words.
func (w *cOperator) text(n *expr.Node, words []string, truth bool) string {
	text, err := w.dialect().Print(w.lowered(n, words, truth, 0))
	w.fail(err)
	return text
}

// deepest is how deep a formula may be before it is written.
const deepest = 250

// lowered is a formula with integers in the place of words and of what Python's operators return. Where truth is set,
// only whether it is true counts.
func (w *cOperator) lowered(n *expr.Node, words []string, truth bool, depth int) *expr.Node {
	if depth == deepest {
		w.fail(fmt.Errorf("a formula is nested or chained more than %d deep", deepest))
	}
	if *w.fault != nil {
		return n
	}
	same := *n
	of := func(i int, words []string, truth bool) *expr.Node { return w.lowered(n.Args[i], words, truth, depth+1) }
	switch n.Op {
	case expr.OpConst:
		same.Value = w.word(n.Value, words)
		return &same
	case expr.OpName:
		_, isLocal := w.local[n.Name]
		if _, known := w.place[n.Name]; !known && !isLocal || w.reals[n.Name] && !isLocal {
			w.fail(fmt.Errorf("it names %s", n.Name))
		}
		return &same
	case expr.OpCompare:
		return w.comparison(n, depth)
	case expr.OpIf:
		same.Args = []*expr.Node{of(0, nil, true), of(1, words, truth), of(2, words, truth)}
		return &same
	case expr.OpAnd, expr.OpOr:
		if truth || w.isTruth(n) { // truths are 0 and 1 in C, so && and || give Python's value
			same.Args = []*expr.Node{of(0, nil, true), of(1, nil, true)}
			return &same
		}
		same.Op, same.Args = expr.OpIf, []*expr.Node{of(0, nil, true), of(1, words, false), of(0, words, false)}
		if n.Op == expr.OpOr {
			same.Args[1], same.Args[2] = same.Args[2], same.Args[1]
		}
		return &same
	}
	same.Args = make([]*expr.Node, len(n.Args))
	for i := range n.Args {
		same.Args[i] = of(i, nil, n.Op == expr.OpNot || n.Op == expr.OpBool)
	}
	return &same
}

// comparison is a chain of comparisons, joined by `and`.
func (w *cOperator) comparison(n *expr.Node, depth int) *expr.Node {
	var words []string
	for _, a := range n.Args {
		if a.Op == expr.OpName && w.words[a.Name] != nil {
			words = w.words[a.Name]
		}
	}
	of := func(n *expr.Node) *expr.Node { return w.lowered(n, words, false, depth+1) }
	compare := func(c expr.Cmp, left, right *expr.Node) *expr.Node {
		return &expr.Node{Op: expr.OpCompare, Args: []*expr.Node{left, right}, Cmps: []expr.Cmp{c}}
	}
	var all *expr.Node
	for i, c := range n.Cmps {
		left, right := n.Args[i], n.Args[i+1]
		var part *expr.Node
		switch {
		case w.isReal(left) || w.isReal(right):
			part = compare(c, w.double(left, depth), w.double(right, depth))
		case right.Op == expr.OpTuple: // a maximum, since Python computes all of them
			items := lists.Of(right.Args, func(a *expr.Node) *expr.Node { return compare(expr.CmpEq, of(left), of(a)) })
			part = &expr.Node{Op: expr.OpMax, Args: append(items, expr.Constant(expr.Int(0)).Root())}
			if c == expr.CmpNotIn {
				part = &expr.Node{Op: expr.OpNot, Args: []*expr.Node{part}}
			}
		default:
			if words != nil && c > expr.CmpNe {
				w.fail(fmt.Errorf("it compares texts by %s", c))
			}
			part = compare(c, of(left), of(right))
		}
		if all == nil {
			all = part
		} else {
			all = &expr.Node{Op: expr.OpAnd, Args: []*expr.Node{all, part}}
		}
	}
	return all
}

func (w *cOperator) isReal(n *expr.Node) bool { return n.Op == expr.OpName && w.reals[n.Name] }

// double is a floating-point number, or what one is compared with.
func (w *cOperator) double(n *expr.Node, depth int) *expr.Node {
	if x, isNumber := n.Value.AsFloat(); n.Op == expr.OpConst && isNumber {
		return expr.Constant(expr.Float(x)).Root()
	}
	if w.isReal(n) {
		return &expr.Node{Op: expr.OpCall, Name: "real", Args: []*expr.Node{n}}
	}
	return &expr.Node{Op: expr.OpCall, Name: "(double)", Args: []*expr.Node{w.lowered(n, nil, false, depth+1)}}
}

func (w *cOperator) isTruth(n *expr.Node) bool {
	switch n.Op {
	case expr.OpCompare, expr.OpNot, expr.OpBool:
		return true
	case expr.OpAnd, expr.OpOr:
		return w.isTruth(n.Args[0]) && w.isTruth(n.Args[1])
	case expr.OpName:
		return w.truth[n.Name]
	}
	return false
}

// word is a value as C has it: a text's index in words, -1 where it is not among them.
func (w *cOperator) word(v expr.Value, words []string) expr.Value {
	if v.Kind() == expr.KindString && words != nil {
		return expr.Int(int64(slices.Index(words, v.String())))
	}
	return v
}

// constant is a value that a name may have.
func (w *cOperator) constant(name string, v expr.Value) string {
	if x, isNumber := v.AsFloat(); w.reals[name] && isNumber {
		v = expr.Int(int64(math.Float64bits(x)))
	}
	return w.literal(w.word(v, w.words[name]))
}
