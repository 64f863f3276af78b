package pack

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"autotune/internal/lists"
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
	e := evaluator{values: maps.Clone(values)}
	for _, d := range v.Define {
		e.values[d.Name] = e.value(d.Value)
	}
	for _, f := range v.Where {
		if !e.value(f).Truth() {
			return c, nil, false
		}
	}
	c.File, c.Workspaces, c.Scalars = v.File, e.named(v.Workspaces, 0, mostWorkspace), e.named(v.Scalars, math.MinInt64, math.MaxInt64)
	for _, l := range v.Launches {
		if l.When == nil || e.value(*l.When).Truth() {
			c.Launches = append(c.Launches, e.launch(l, len(c.Launches) == 0))
		}
	}
	for _, name := range v.Sizes.Names {
		size := e.within(e.values[name], math.MinInt32, math.MaxInt32)
		sizes = binary.LittleEndian.AppendUint32(sizes, uint32(size))
	}
	return c, sizes, len(c.Launches) > 0 && !e.failed
}

// evaluator evaluates formulas, and notes whether one has no value or one out of bounds.
type evaluator struct {
	values map[string]expr.Value
	failed bool
}

func (e *evaluator) value(f Formula) expr.Value {
	v, err := f.Eval(e.values)
	e.failed = e.failed || err != nil
	return v
}

func (e *evaluator) within(v expr.Value, least, most int64) int64 {
	n, isInt := v.AsInt()
	e.failed = e.failed || !isInt || n < least || n > most
	return n
}

// numbers are integers with bounds.
func (e *evaluator) numbers(formulas []Formula, least, most int64) []int64 {
	return lists.Of(formulas, func(f Formula) int64 { return e.within(e.value(f), least, most) })
}

func (e *evaluator) named(all []Definition, least, most int64) []Named[int64] {
	return lists.Of(all, func(d Definition) Named[int64] {
		return Named[int64]{d.Name, e.within(e.value(d.Value), least, most)}
	})
}

func (e *evaluator) launch(l LaunchOf[Formula], first bool) Launch {
	made := Launch{
		Entry: l.Entry, Grid: [3]int64(e.numbers(l.Grid[:], 1, mostGrid)), Block: [3]int64(e.numbers(l.Block[:], 1, mostBlock)),
		SharedBytes: e.within(e.value(l.SharedBytes), 0, mostShared), Cooperative: l.Cooperative, Dependent: l.Dependent && !first,
		Arguments: l.Arguments,
	}
	if l.Cluster != [3]Formula{} {
		made.Cluster = [3]int64(e.numbers(l.Cluster[:], 1, mostCluster))
	}
	if made.Cluster == [3]int64{1, 1, 1} { // a cluster of one block is none
		made.Cluster = [3]int64{}
	}
	for _, m := range l.Maps {
		made.Maps = append(made.Maps, TensorMap[int64]{m.At, e.numbers(m.Words, math.MinInt64, math.MaxInt64)})
	}
	return made
}
