package pack

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"autotune/space/expr"
)

// Family is kernels for a range of an operator's problems on one architecture, and the tree that
// chooses among them. They take some dimensions when they run.
type Family struct {
	Tuned
	Range    [][]Span   `json:"range"` // for each dimension; the family serves nothing outside of it
	Variants []*Variant `json:"entries"`
	Tree     *Node      `json:"tree"`
	Regret   *Regret    `json:"regret,omitempty"` // on the device; absent: the files are for another architecture
}

// Span is all integers from the first to the last.
type Span [2]int64

// Variant is one kernel of a family. Its formulas name what the operator's formulas do, and what
// Define adds.
type Variant struct {
	Code[Formula]
	Define []Definition `json:"define"` // each after those that it names
	Where  []Formula    `json:"where"`  // conditions that a problem must meet
	Sizes  Sizes        `json:"sizes"`
}

// Sizes are the values that a kernel reads from constant memory. A loader writes them into a copy of
// the file as 32-bit little-endian integers, side by side.
type Sizes struct {
	At    int64    `json:"at"` // in the file, in bytes
	Names []string `json:"names"`
}

// Node is a part of a tree: a condition with a node for either case, or a leaf. The leaf's first entry that
// serves the problem runs. If none does, the general kernel runs.
type Node struct {
	If      *Formula `json:"if,omitempty"`
	Then    *Node    `json:"then,omitempty"`
	Else    *Node    `json:"else,omitempty"`
	Entries []int    `json:"entries,omitempty"`
}

// Regret is how slow what the tree chooses is against each shape's own best kernel.
type Regret struct {
	HeldOut Slowdown `json:"held_out"` // at shapes that the tree was not grown from
	Samples Slowdown `json:"samples"`
}

// Slowdown is a factor, over some shapes.
type Slowdown struct {
	Worst float64 `json:"worst"`
	Mean  float64 `json:"geometric_mean"`
	Of    int     `json:"of"` // shapes
}

// has tells whether a problem is in the family's range and has its parameters.
func (f *Family) has(q problem) bool {
	for i, name := range q.operator.Shape {
		v, _ := q.values[name].AsInt()
		if !slices.ContainsFunc(f.Range[i], func(s Span) bool { return s[0] <= v && v <= s[1] }) {
			return false
		}
	}
	return q.has(q.operator.components(), f.Values)
}

// choose finds the variant for a problem, with its launches and the sizes that are written into its file; nil: the
// general kernel.
func (f *Family) choose(values map[string]expr.Value, gpu GPU) (*Variant, Code[int64], []byte) {
	for _, at := range f.Tree.leaf(values) {
		v := f.Variants[at]
		if c, sizes, ok := v.at(values); ok && gpu.runs(f.Target, f.Device, c.Launches) {
			return v, c, sizes
		}
	}
	return nil, Code[int64]{}, nil
}

// leaf is the list of entries to try for a problem; empty if a condition cannot be computed.
func (n *Node) leaf(values map[string]expr.Value) []int {
	for n.If != nil {
		holds, err := n.If.Eval(values)
		switch {
		case err != nil:
			return nil
		case holds.Truth():
			n = n.Then
		default:
			n = n.Else
		}
	}
	return n.Entries
}

// at is the variant for a problem with these values; not ok: it does not serve it.
func (v *Variant) at(values map[string]expr.Value) (c Code[int64], sizes []byte, ok bool) {
	values, failed := maps.Clone(values), false
	value := func(f Formula) expr.Value {
		x, err := f.Eval(values)
		failed = failed || err != nil
		return x
	}
	within := func(x expr.Value, least, most int64) int64 {
		n, isInt := x.AsInt()
		failed = failed || !isInt || n < least || n > most
		return n
	}
	for _, d := range v.Define {
		values[d.Name] = value(d.Value)
	}
	if slices.ContainsFunc(v.Where, func(f Formula) bool { return !value(f).Truth() }) {
		return c, nil, false
	}
	made := v.Code
	made.Launches = slices.DeleteFunc(slices.Clone(v.Launches), func(l LaunchOf[Formula]) bool { return l.When != nil && !value(*l.When).Truth() })
	c = Map(made, func(f Formula, least, most int64) int64 { return within(value(f), least, most) })
	for i := range c.Launches {
		l := &c.Launches[i]
		l.Dependent = l.Dependent && i > 0
		if l.Cluster == [3]int64{1, 1, 1} { // a cluster of one block is none
			l.Cluster = [3]int64{}
		}
	}
	for _, name := range v.Sizes.Names {
		sizes = binary.LittleEndian.AppendUint32(sizes, uint32(within(values[name], math.MinInt32, math.MaxInt32)))
	}
	return c, sizes, len(c.Launches) > 0 && !failed
}
