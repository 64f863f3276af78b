package space

import (
	"fmt"
	"maps"
	"strings"

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
	expr       *expr.Expr // the whole constraint
	folded     *expr.Node // with constants filled in
	vars       []int      // the tunables in it, sorted
	term       *term      // its harmless form, or nil and then:
	program    *expr.Program
	level      int // the layer that binds the last of vars
}

func newModel(p Part) (*model, error) {
	m := &model{Part: p, slots: map[string]int{}}
	for i, t := range p.Tunables {
		m.slots[t.Name] = i
		all := make([]int, len(t.Values))
		for v := range all {
			all[v] = v
		}
		m.allowed = append(m.allowed, all)
	}
	for i, src := range p.Constraints {
		if err := m.parse(i, src); err != nil {
			return nil, fmt.Errorf("constraint %d: %w", i+1, err)
		}
	}
	m.narrow()
	m.encode()
	m.settle()
	return m, nil
}

// parse splits a constraint into checks and makes sure that its names exist.
func (m *model) parse(i int, src string) error {
	e, err := expr.Parse(src)
	if err != nil {
		return err
	}
	if _, err := e.Compile(m.slots, m.Constants); err != nil {
		return err
	}
	for _, n := range e.Root().Conjuncts() {
		m.checks = append(m.checks, &check{constraint: i, node: n, expr: e})
	}
	return nil
}

// narrow removes the values that a check on one tunable alone rules out, until
// there are no more such checks. A tunable with one value left is a constant.
func (m *model) narrow() {
	for again := true; again && !m.empty; {
		again = false
		constants := m.constants()
		var left []*check
		for _, c := range m.checks {
			m.fold(c, constants)
			keep, narrowed := m.tryAlone(c)
			again = again || narrowed
			if keep {
				left = append(left, c)
			}
		}
		m.checks = left
	}
}

func (m *model) constants() map[string]expr.Value {
	constants := maps.Clone(m.Constants)
	if constants == nil {
		constants = map[string]expr.Value{}
	}
	for i, t := range m.Tunables {
		if len(m.allowed[i]) == 1 {
			constants[t.Name] = t.Values[m.allowed[i][0]]
		}
	}
	return constants
}

func (m *model) fold(c *check, constants map[string]expr.Value) {
	c.folded = expr.Fold(c.node, constants)
	c.vars = c.vars[:0]
	names := c.folded.Names()
	for i, t := range m.Tunables {
		for _, name := range names {
			if name == t.Name {
				c.vars = append(c.vars, i)
			}
		}
	}
	c.program = expr.Build(c.expr, c.folded, m.slots)
}

// tryAlone settles a check with at most one tunable. It keeps the check where
// evaluating fails: another check may yet rule that value out.
func (m *model) tryAlone(c *check) (keep, narrowed bool) {
	if len(c.vars) > 1 {
		return true, false
	}
	values := make([]expr.Value, len(m.Tunables))
	if len(c.vars) == 0 {
		v, err := c.program.Eval(values)
		if err != nil {
			m.failing = c
		}
		m.empty = m.empty || err == nil && !v.Truth()
		return false, false
	}
	i := c.vars[0]
	var left []int
	for _, k := range m.allowed[i] {
		values[i] = m.Tunables[i].Values[k]
		v, err := c.program.Eval(values)
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
	m.terms = terms{vars: map[string]*term{}, strings: map[string]uint64{}}
	m.words = make([][]uint64, len(m.Tunables))
	m.kinds = make([]expr.Kind, len(m.Tunables))
	for i := range m.Tunables {
		m.encodeTunable(i)
	}
	for _, c := range m.checks {
		c.term = m.terms.truth(c.folded)
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
			m.words[i][k] = m.terms.word(v)
		}
	}
	if kind != expr.KindNone && len(m.allowed[i]) > 0 {
		m.terms.vars[t.Name] = m.variable(i, kind)
	}
}

func (m *model) variable(i int, kind expr.Kind) *term {
	x := &term{op: tVar, kind: kind, vars: []int{i}, key: varKey(i)}
	if kind == expr.KindString {
		return x
	}
	values := m.Tunables[i].Values
	x.lo, _ = values[m.allowed[i][0]].AsFloat()
	x.hi = x.lo
	for _, k := range m.allowed[i] {
		f, _ := values[k].AsFloat()
		if f != f {
			return nil
		}
		x.lo, x.hi = min(x.lo, f), max(x.hi, f)
	}
	return m.terms.bound(x, x.lo, x.hi)
}

// settle drops checks that are always true. Fewer checks tie fewer tunables
// together.
func (m *model) settle() {
	var left []*check
	for _, c := range m.checks {
		switch {
		case c.term != nil && c.term.op == tConst:
			m.empty = m.empty || c.term.word == 0
		case c.term != nil && len(c.vars) == 2 && m.alwaysTrue(c):
		default:
			left = append(left, c)
		}
	}
	m.checks = left
}

// alwaysTrue tries all combinations of a check on two tunables, if they are few.
func (m *model) alwaysTrue(c *check) bool {
	const few = 1 << 12
	i, j := c.vars[0], c.vars[1]
	if len(m.allowed[i])*len(m.allowed[j]) > few {
		return false
	}
	em := emitter{layer: -1, slots: map[string]int{varKey(i): 0, varKey(j): 1}}
	f := em.emit(c.term)
	slots := make([]uint64, 2)
	for _, a := range m.allowed[i] {
		slots[0] = m.words[i][a]
		for _, b := range m.allowed[j] {
			slots[1] = m.words[j][b]
			if f(slots) == 0 {
				return false
			}
		}
	}
	return true
}

// describe tells which values a failing constraint met.
func (m *model) describe(c *check, choice []int) error {
	values := make([]expr.Value, len(choice))
	for i, k := range choice {
		values[i] = m.Tunables[i].Values[k]
	}
	_, err := c.program.Eval(values)
	names := c.expr.Names()
	var with []string
	for i, t := range m.Tunables {
		for _, name := range names {
			if name == t.Name {
				with = append(with, t.Name+"="+values[i].String())
			}
		}
	}
	forValues := ""
	if len(with) > 0 {
		forValues = " for " + strings.Join(with, " ")
	}
	return fmt.Errorf("constraint %d cannot be evaluated%s: %w", c.constraint+1, forValues, err)
}
