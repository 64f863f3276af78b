package space

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// model is a part on its way to a diagram: the values that tunables may still
// have and the checks that are left to make.
type model struct {
	Part
	slots   map[string]int // tunable name -> index
	allowed [][]int        // tunable -> indexes of the values still possible
	checks  []*check
	terms   terms
	words   [][]uint64  // tunable -> value -> machine word
	kinds   []expr.Kind // of a tunable's values; KindNone for a mixture, whose words are indexes
	failing *check      // a constraint that cannot be evaluated whatever the values
	empty   bool        // a constraint is always false
}

// check is a condition that all configurations must satisfy: a constraint, or
// one of the operands of its `and`.
type check struct {
	constraint int        // which one, from 0
	node       *expr.Node // as written
	folded     *expr.Node // with constants and definitions filled in
	vars       []int      // the tunables in it, sorted
	term       *term      // its harmless form, or nil
	level      int        // the layer that binds the last of vars
}

func newModel(ctx context.Context, p Part) (*model, error) {
	m := &model{Part: p, slots: map[string]int{}}
	for i, t := range p.Tunables {
		m.slots[t.Name] = i
		m.allowed = append(m.allowed, lists.Places(len(t.Values)))
	}
	if err := m.checkNames(); err != nil {
		return nil, err
	}
	for i, e := range p.Constraints {
		for _, n := range m.conjuncts(e.Root()) {
			m.checks = append(m.checks, &check{constraint: i, node: n})
		}
	}
	if err := m.narrow(ctx); err != nil {
		return nil, err
	}
	m.encode()
	m.settle()
	return m, nil
}

// checkNames makes sure that all names mean something.
func (m *model) checkNames() error {
	defined := slices.Sorted(maps.Keys(m.Definitions))
	if _, cycle := expr.DependencyOrder(defined, func(name string) []string { return m.Definitions[name].Names() }); cycle != nil {
		return fmt.Errorf("definitions need each other: %s", strings.Join(cycle, " -> "))
	}
	known := maps.Clone(m.slots)
	for _, name := range defined {
		known[name] = 0
	}
	for _, name := range defined {
		if _, err := m.Definitions[name].Compile(known, m.Constants); err != nil {
			return fmt.Errorf("definition of %s: %w", name, err)
		}
	}
	for i, e := range m.Constraints {
		if _, err := e.Compile(known, m.Constants); err != nil {
			return fmt.Errorf("constraint %d: %w", i+1, err)
		}
	}
	return nil
}

// conjuncts are the parts that must all be true for n to be true, also where n
// holds them by a name.
func (m *model) conjuncts(n *expr.Node) []*expr.Node {
	if d, ok := m.Definitions[n.Name]; ok && n.Op == expr.OpName {
		return m.conjuncts(d.Root())
	}
	parts := n.Conjuncts()
	if len(parts) == 1 {
		return parts
	}
	var all []*expr.Node
	for _, part := range parts {
		all = append(all, m.conjuncts(part)...)
	}
	return all
}

// narrow removes the values that a check on one tunable alone rules out, until
// there are no more such checks. A tunable with one value left is a constant.
func (m *model) narrow(ctx context.Context) error {
	for again := true; again && !m.empty; {
		again = false
		folder := &expr.Folder{Constants: m.constants(), Definitions: m.Definitions, Slots: m.slots}
		var left []*check
		for _, c := range m.checks {
			m.fold(c, folder)
			keep, narrowed := m.tryAlone(ctx, c)
			again = again || narrowed
			if keep {
				left = append(left, c)
			}
		}
		m.checks = left
	}
	return ctx.Err()
}

func (m *model) constants() map[string]expr.Value {
	constants := map[string]expr.Value{}
	maps.Copy(constants, m.Constants)
	for i, t := range m.Tunables {
		if len(m.allowed[i]) == 1 {
			constants[t.Name] = t.Values[m.allowed[i][0]]
		}
	}
	return constants
}

func (m *model) fold(c *check, folder *expr.Folder) {
	c.folded = folder.Fold(c.node)
	c.vars = c.vars[:0]
	for _, name := range c.folded.Names() {
		c.vars = append(c.vars, m.slots[name])
	}
	slices.Sort(c.vars)
}

// tryAlone settles a check with at most one tunable. It keeps the check where
// evaluating fails: another check may yet rule that value out.
func (m *model) tryAlone(ctx context.Context, c *check) (keep, narrowed bool) {
	if len(c.vars) > 1 {
		return true, false
	}
	values := make([]expr.Value, len(m.Tunables))
	if len(c.vars) == 0 {
		v, err := c.folded.Eval(values)
		if err != nil {
			m.failing = c
		}
		m.empty = m.empty || err == nil && !v.Truth()
		return false, false
	}
	i := c.vars[0]
	var left []int
	for n, k := range m.allowed[i] {
		if n%stride == 0 && ctx.Err() != nil {
			break // narrow tells
		}
		values[i] = m.Tunables[i].Values[k]
		v, err := c.folded.Eval(values)
		keep = keep || err != nil
		if err != nil || v.Truth() {
			left = append(left, k)
		}
	}
	narrowed = len(left) < len(m.allowed[i])
	m.allowed[i] = left
	m.empty = m.empty || len(left) == 0
	return keep, narrowed
}

// encode chooses machine words for values and finds which checks are harmless.
func (m *model) encode() {
	m.terms = terms{strings: map[string]uint64{}, made: map[string]*term{}}
	to := &translator{&m.terms, map[string]*term{}, map[*expr.Node]*term{}, map[*expr.Node]*term{}}
	m.words = make([][]uint64, len(m.Tunables))
	m.kinds = make([]expr.Kind, len(m.Tunables))
	for i, t := range m.Tunables {
		m.encodeTunable(i)
		if m.kinds[i] != expr.KindNone && len(m.allowed[i]) > 0 {
			to.vars[t.Name] = m.variable(i)
		}
	}
	for _, c := range m.checks {
		c.term = to.truth(c.folded)
	}
}

func (m *model) encodeTunable(i int) {
	t := m.Tunables[i]
	kind := t.Values[0].Kind()
	for _, v := range t.Values {
		if v.Kind() != kind {
			kind = expr.KindNone
		}
	}
	m.kinds[i] = kind
	m.words[i] = make([]uint64, len(t.Values))
	for k, v := range t.Values {
		m.words[i][k] = uint64(k)
		if kind != expr.KindNone {
			m.words[i][k] = m.terms.wordOf(v)
		}
	}
}

// tunable is the term for a tunable.
func (m *model) tunable(i int) *term { return m.terms.variable(i, m.kinds[i]) }

// variable is the tunable's term with its bounds, or nil.
func (m *model) variable(i int) *term {
	x := m.tunable(i)
	if x.kind == expr.KindString {
		return x
	}
	values := m.Tunables[i].Values
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, k := range m.allowed[i] {
		f, _ := values[k].AsFloat()
		if f != f {
			return nil
		}
		lo, hi = min(lo, f), max(hi, f)
	}
	return m.terms.bound(x, lo, hi)
}

// settle drops checks that are always true. Fewer checks tie fewer tunables
// together.
func (m *model) settle() {
	var left []*check
	for _, c := range m.checks {
		switch {
		case c.term != nil && c.term.op == expr.OpConst:
			m.empty = m.empty || c.term.word == 0
		case c.term != nil && m.alwaysTrue(c):
		default:
			left = append(left, c)
		}
	}
	m.checks = left
}

// alwaysTrue tries all combinations of a check's values, if they are few, from
// the last backwards: many checks fail for the greatest values.
func (m *model) alwaysTrue(c *check) bool {
	const few = 20_000
	combinations := 1
	for _, v := range c.vars {
		if combinations *= len(m.allowed[v]); combinations > few {
			return false
		}
	}
	holds := m.tester(c)
	rest := 0
	pick := func(values []int) int {
		k := rest % len(values)
		rest /= len(values)
		return values[k]
	}
	for n := combinations - 1; n >= 0; n-- {
		if rest = n; !holds(pick) {
			return false
		}
	}
	return true
}

// tester tells whether a check holds for the values that pick chooses, for one
// tunable after another, among those allowed.
func (m *model) tester(c *check) func(pick func(values []int) int) bool {
	compiler := newCompiler(&m.terms, nil, func(*term) bool { return false })
	for _, v := range c.vars {
		compiler.place(m.tunable(v), 0, true)
	}
	compiler.require(c.term)
	code := compiler.code
	code.once.run(code.slots)
	return func(pick func([]int) int) bool {
		for i, v := range c.vars {
			code.slots[i] = m.words[v][pick(m.allowed[v])]
		}
		return code.each.run(code.slots)
	}
}

// describe tells which values a failing constraint met.
func (m *model) describe(c *check, choice []int) error {
	values := make([]expr.Value, len(choice))
	for i, k := range choice {
		values[i] = m.Tunables[i].Values[k]
	}
	_, err := c.folded.Eval(values)
	names := (&expr.Folder{Definitions: m.Definitions}).Fold(m.Constraints[c.constraint].Root()).Names()
	var with []string
	for i, t := range m.Tunables {
		if slices.Contains(names, t.Name) {
			with = append(with, t.Name+"="+values[i].String())
		}
	}
	forValues := ""
	if len(with) > 0 {
		forValues = " for " + strings.Join(with, " ")
	}
	return fmt.Errorf("constraint %d cannot be evaluated%s: %w", c.constraint+1, forValues, err)
}
