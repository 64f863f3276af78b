package pack

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/space/expr"
)

// Family is kernels for a range of an operator's problems on one architecture, and the tree that
// chooses among them. They take some dimensions when they run.
type Family struct {
	Operator string                `json:"operator"`
	Problem  string                `json:"problem"` // in words, with ranges
	Values   map[string]expr.Value `json:"values"`  // of parameters' components
	Range    [][]Span              `json:"range"`   // for each dimension; the family serves nothing outside of it
	Math     string                `json:"math"`
	Auto     bool                  `json:"auto,omitempty"` // nobody named the mode: PyTorch would take it
	Target   string                `json:"target"`
	Variants []*Variant            `json:"entries"`
	Tree     *Node                 `json:"tree"`
	Compiler string                `json:"compiler"`
	Device   string                `json:"device"`             // of the searches
	Regret   *Regret               `json:"regret,omitempty"`   // there; absent: the files are for another architecture
	Evidence json.RawMessage       `json:"evidence,omitempty"` // the family's document
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

// What a family may have at most.
const (
	mostVariants = 256
	mostDepth    = 16 // of a tree
)

// checkFamily looks for what no loader could use.
func (m *Manifest) checkFamily(f *Family) error {
	o := m.operator(f.Operator)
	switch {
	case o == nil:
		return unknownOperator(f.Operator)
	case !targetForm.MatchString(f.Target):
		return fmt.Errorf("%.40q is no architecture, as sm_90a", f.Target)
	case len(f.Range) != len(o.Shape):
		return fmt.Errorf("its range has %d dimensions, and the operator %d", len(f.Range), len(o.Shape))
	case len(f.Variants) > mostVariants || slices.Contains(f.Variants, nil):
		return fmt.Errorf("it has %d entries, or null stands for one; %d are the most", len(f.Variants), mostVariants)
	}
	for i, spans := range f.Range {
		for _, s := range spans {
			if s[0] < 1 || s[0] > s[1] {
				return fmt.Errorf("its range of %s has %d to %d", o.Shape[i], s[0], s[1])
			}
		}
	}
	if err := cmp.Or(o.checkMode(f.Math), o.checkValues(f.Values, false, true)); err != nil {
		return err
	}
	for i, v := range f.Variants {
		if err := m.checkVariant(o, v); err != nil {
			return fmt.Errorf("its entry %d: %w", i, err)
		}
	}
	return f.Tree.check(o.names(), len(f.Variants), 0)
}

func (n *Node) check(names []string, variants, depth int) error {
	switch {
	case n == nil || depth > mostDepth:
		return errors.New("its tree lacks a branch, or is too deep")
	case n.If == nil:
		for _, e := range n.Entries {
			if e < 0 || e >= variants {
				return fmt.Errorf("its tree names the entry %d of %d", e, variants)
			}
		}
		return nil
	}
	return cmp.Or(known(names, *n.If), n.Then.check(names, variants, depth+1), n.Else.check(names, variants, depth+1))
}

// known refuses formulas that name what nobody defines.
func known(names []string, formulas ...Formula) error {
	for _, f := range formulas {
		if f.Expr == nil {
			return errors.New("it lacks a formula")
		}
		for _, name := range f.Names() {
			if !slices.Contains(names, name) {
				return fmt.Errorf("the formula %.60q names %s, which nothing defines", f, name)
			}
		}
	}
	return nil
}

func (m *Manifest) checkVariant(o *Operator, v *Variant) error {
	names := o.names()
	for _, d := range v.Define {
		if !quote.IsName(d.Name) {
			return fmt.Errorf("%.80q is no name", d.Name)
		}
		if err := known(names, d.Value); err != nil {
			return err
		}
		names = append(names, d.Name)
	}
	if err := cmp.Or(different("names", names), known(names, v.Where...)); err != nil {
		return err
	}
	for _, l := range v.Launches {
		if l.When != nil {
			if err := known(names, *l.When); err != nil {
				return err
			}
		}
	}
	for _, name := range v.Sizes.Names {
		if !slices.Contains(names, name) {
			return fmt.Errorf("it reads %.80q, which nothing defines", name)
		}
	}
	err := checkCode(m, o, &v.Code, func(_ string, _, _ int64, formulas ...Formula) error { return known(names, formulas...) })
	if err != nil {
		return err
	}
	if bytes := m.Files[v.File].Bytes; v.Sizes.At < 0 || v.Sizes.At > bytes-4*int64(len(v.Sizes.Names)) {
		return fmt.Errorf("its %d sizes at %d are not within the %d bytes of %s", len(v.Sizes.Names), v.Sizes.At, bytes, v.File)
	}
	return nil
}
