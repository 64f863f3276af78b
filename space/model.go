package space

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// model is a part of a space while its diagram is being prepared. A model stores the values that tunables can still
// have and the checks that remain.
type model struct {
	Part
	allowed   [][]int // tunable -> indexes of the values still possible
	checks    []*check
	program   *expr.Program // computes the checks
	variables []expr.Term   // tunable -> its term
	words     [][]uint64    // tunable -> value -> its machine word
	failing   *check        // a constraint that cannot be evaluated for any values
	empty     bool          // some constraint is always false
}

// check is a condition that all configurations must satisfy: a constraint, or an operand of a constraint's `and`.
type check struct {
	constraint int        // index of the constraint
	node       *expr.Node // as written
	folded     *expr.Node // with constants and definitions replaced
	vars       []int      // the tunables in it, sorted
	term       expr.Term
	level      int // the layer that binds the last tunable of vars
}

func newModel(ctx context.Context, p Part) (*model, error) {
	m := &model{Part: p, program: expr.NewProgram()}
	for _, t := range p.Tunables {
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
	if err := m.narrow(ctx); err != nil || m.empty {
		return m, err
	}
	m.compile()
	return m, nil
}

// checkNames checks that every name in a constraint or definition is known.
func (m *model) checkNames() error {
	defined := slices.Sorted(maps.Keys(m.Definitions))
	needs := func(name string) []string { return m.Definitions[name].Names() }
	if _, cycle := expr.DependencyOrder(defined, needs); cycle != nil {
		return fmt.Errorf("definitions need each other: %s", strings.Join(cycle, " -> "))
	}
	known := map[string]bool{}
	for _, t := range m.Tunables {
		known[t.Name] = true
	}
	for name := range m.Constants {
		known[name] = true
	}
	for _, name := range defined {
		known[name] = true
	}
	for _, name := range defined {
		if err := m.Definitions[name].Check(known); err != nil {
			return fmt.Errorf("definition of %s: %w", name, err)
		}
	}
	for i, e := range m.Constraints {
		if err := e.Check(known); err != nil {
			return fmt.Errorf("constraint %d: %w", i+1, err)
		}
	}
	return nil
}

// conjuncts splits n into the conditions that must all be true for n to be true, and also splits the definitions that n
// refers to.
func (m *model) conjuncts(n *expr.Node) (all []*expr.Node) {
	if d, ok := m.Definitions[n.Name]; ok && n.Op == expr.OpName {
		return m.conjuncts(d.Root())
	}
	parts := n.Conjuncts()
	if len(parts) == 1 {
		return parts
	}
	for _, part := range parts {
		all = append(all, m.conjuncts(part)...)
	}
	return all
}

// narrow removes the values that a check on a single tunable rules out. narrow repeats the removal until nothing
// changes, because a tunable with only one value left becomes a constant, and other checks may then depend on a single
// tunable.
func (m *model) narrow(ctx context.Context) error {
	for again := true; again && !m.empty; {
		again = false
		folder := &expr.Folder{Constants: maps.Clone(m.Constants), Definitions: m.Definitions}
		if folder.Constants == nil {
			folder.Constants = map[string]expr.Value{}
		}
		for i, t := range m.Tunables {
			if len(m.allowed[i]) == 1 {
				folder.Constants[t.Name] = t.Values[m.allowed[i][0]]
			}
		}
		m.checks = lists.Where(m.checks, func(c *check) bool {
			c.folded = folder.Fold(c.node)
			names := c.folded.Names()
			c.vars = lists.Where(lists.Places(len(m.Tunables)), func(i int) bool {
				return slices.Contains(names, m.Tunables[i].Name)
			})
			keep, narrowed := m.tryAlone(ctx, c)
			again = again || narrowed
			return keep
		})
	}
	return ctx.Err()
}

// tryAlone evaluates a check that depends on at most one tunable, once for each value of the tunable. tryAlone keeps
// the check if its evaluation fails for a value, because another check may rule that value out.
func (m *model) tryAlone(ctx context.Context, c *check) (keep, narrowed bool) {
	if len(c.vars) > 1 {
		return true, false
	}
	e := expr.New(c.folded)
	if len(c.vars) == 0 {
		v, err := e.Eval(nil)
		if err != nil {
			m.failing = c
		}
		m.empty = m.empty || err == nil && !v.Truth()
		return false, false
	}
	i := c.vars[0]
	t, env := m.Tunables[i], map[string]expr.Value{}
	before := len(m.allowed[i])
	m.allowed[i] = lists.Where(m.allowed[i], func(k int) bool {
		if k%stride == 0 && ctx.Err() != nil {
			return true // narrow stops then
		}
		env[t.Name] = t.Values[k]
		v, err := e.Eval(env)
		keep = keep || err != nil
		return err != nil || v.Truth()
	})
	m.empty = m.empty || len(m.allowed[i]) == 0
	return keep, len(m.allowed[i]) < before
}

// compile turns the checks into terms and drops checks that are always true, so that such checks do not connect
// tunables.
func (m *model) compile() {
	m.words = make([][]uint64, len(m.Tunables))
	m.variables = make([]expr.Term, len(m.Tunables))
	for i, t := range m.Tunables {
		m.variables[i], m.words[i] = m.program.Variable(t.Name, t.Values, m.allowed[i])
	}
	m.checks = lists.Where(m.checks, func(c *check) bool {
		c.term = m.program.Truth(c.folded)
		settled := m.program.Constant(c.term)
		m.empty = m.empty || settled && !m.program.Slots.Holds(c.term)
		return !settled
	})
}

// order returns the order in which the diagram binds tunables. Tunables that checks connect, directly or through
// others, form a component. Components of connected tunables follow each other in declared order, so that the diagram
// of each component ends in a single node. Within a component of connected tunables, the next tunable is always the one
// with which the most checks become decidable. Among tunables with which equally many checks become decidable, order
// prefers the one that shares checks with the most bound tunables, so that few values must be remembered.
func (m *model) order() (order []int) {
	component := lists.Places(len(m.Tunables)) // tunable -> the first one of its component
	for _, c := range m.checks {
		for _, v := range c.vars {
			from, to := component[v], component[c.vars[0]]
			for i := range component {
				if component[i] == from || component[i] == to {
					component[i] = min(from, to)
				}
			}
		}
	}
	bound := make([]bool, len(m.Tunables))
	left := lists.Places(len(m.Tunables))
	slices.SortStableFunc(left, func(a, b int) int { return component[a] - component[b] })
	for len(left) > 0 {
		next, most, closest := 0, -1, 0
		for i, v := range left {
			if component[v] != component[left[0]] {
				break
			}
			if settled, tied := m.ties(v, bound); settled > most || settled == most && tied > closest {
				next, most, closest = i, settled, tied
			}
		}
		order, bound[left[next]] = append(order, left[next]), true
		left = slices.Delete(left, next, next+1)
	}
	return order
}

// ties returns how many checks become decidable when a tunable is bound, and with how many bound tunables the tunable
// shares a check.
func (m *model) ties(tunable int, bound []bool) (settled, tied int) {
	for _, c := range m.checks {
		if !slices.Contains(c.vars, tunable) {
			continue
		}
		before := lists.Where(c.vars, func(v int) bool { return bound[v] })
		tied += len(before)
		if len(before) == len(c.vars)-1 {
			settled++
		}
	}
	return settled, tied
}

// describe returns an error that says for which values of the tunables a constraint fails.
func (m *model) describe(c *check, choice []int) error {
	names := (&expr.Folder{Definitions: m.Definitions}).Fold(m.Constraints[c.constraint].Root()).Names()
	env := map[string]expr.Value{}
	forValues := ""
	for i, t := range m.Tunables {
		env[t.Name] = t.Values[choice[i]]
		if slices.Contains(names, t.Name) {
			forValues += " " + t.Name + "=" + env[t.Name].String()
		}
	}
	if forValues != "" {
		forValues = " for" + forValues
	}
	_, err := expr.New(c.folded).Eval(env)
	return fmt.Errorf("constraint %d cannot be evaluated%s: %w", c.constraint+1, forValues, err)
}
