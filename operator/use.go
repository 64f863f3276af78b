package operator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space"
	"autotune/space/expr"
)

// use is a template as a problem uses it.
type use struct {
	*Problem
	t *Template
}

// serves tells whether the template's `when` is true for the problem, and its kernel takes what is free.
func (u use) serves() (bool, error) {
	if !u.t.canFree(u.Free) {
		return false, nil
	}
	if u.t.When == nil {
		return true, nil
	}
	v, err := configured{u, u.Constants(u.t)}.value("when", *u.t.When)
	return v.Truth(), err
}

// refusal says why the template does not serve the problem.
func (u use) refusal() string {
	switch {
	case u.t.canFree(u.Free):
		return "when " + u.t.When.Text
	case len(u.t.Free) == 0:
		return "it leaves nothing free"
	}
	return "it leaves only " + strings.Join(u.t.Free, ", ") + " free"
}

// contribution is the template's part of the space: its own constraints, those
// that every launch must satisfy, and what the restriction adds.
func (u use) contribution() space.Part {
	part := space.Part{Template: u.t.Name, Tunables: u.t.Tunables, Constants: u.Constants(u.t), Definitions: map[string]*expr.Expr{}}
	for _, d := range u.t.Derived {
		part.Definitions[d.Name] = d.Formula.code
	}
	for _, f := range u.constraints() {
		part.Constraints = append(part.Constraints, f.code)
	}
	if fixed := u.part.fixed; fixed != nil {
		part.Tunables = slices.Clone(part.Tunables)
		for i := range part.Tunables {
			part.Tunables[i].Values = []expr.Value{fixed[i].Value}
		}
	}
	return part
}

// constraints are all that a configuration must satisfy.
func (u use) constraints() []Formula {
	return slices.Concat(u.t.Constraints, u.t.launchLimits(), u.sizeLimits(), u.part.where)
}

// names are those that the template's constraints may use.
func (u use) names() []string {
	names := append(sorted(u.Limits.beside(u.Values)), tunableNames(u.t)...)
	names = append(names, lists.Of(u.t.Derived, func(d Definition) string { return d.Name })...)
	return names
}

// configured is a template in a problem, with what its formulas know there: the problem's values,
// limits, and for one configuration tunables and the template's derived values.
type configured struct {
	use
	env map[string]expr.Value
}

// at is the template for the values of its tunables.
func (u use) at(values space.Values) (configured, error) {
	c := configured{u, withValues(u.Constants(u.t), values)}
	for _, d := range u.t.Derived {
		v, err := c.value("derived value "+d.Name, d.Formula)
		if err != nil {
			return c, err
		}
		c.env[d.Name] = v
	}
	return c, nil
}

// admits tells whether values are in the template's part of the space.
func (u use) admits(values space.Values) bool {
	c, err := u.at(values)
	return err == nil && c.violated() == nil && (u.part.fixed == nil || slices.Equal(u.part.fixed, values))
}

// withValues adds the values of tunables to what expressions know.
func withValues(env map[string]expr.Value, values space.Values) map[string]expr.Value {
	for _, v := range values {
		env[v.Name] = v.Value
	}
	return env
}

// value evaluates one of the template's formulas.
func (c configured) value(what string, f Formula) (expr.Value, error) {
	v, err := f.code.Eval(c.env)
	if err != nil {
		return v, c.fault(f, what, err)
	}
	return v, nil
}

func (c configured) fault(f Formula, what string, err error) error {
	where := f.Position
	where.File = cmp.Or(where.File, c.Operator.File)
	return &tree.Error{Position: where, Message: fmt.Sprintf("%s `%s` for %s: %v", what, f.Text, c.Problem, err)}
}

// interpolate is a text of the template.
func (c configured) interpolate(what string, t Interpolated) (string, error) {
	return t.fill(func(f Formula) (expr.Value, error) { return c.value(what, f) })
}

// violated is the first constraint that is not satisfied; nil: all are.
func (c configured) violated() *Formula {
	for _, f := range c.constraints() {
		if v, err := f.code.Eval(c.env); err != nil || !v.Truth() {
			return &f
		}
	}
	return nil
}

// Constants are what a template's expressions know before any tunable has a value: the problem's
// values, the device's limits, and what the template is read with.
func (p *Problem) Constants(t *Template) map[string]expr.Value {
	constants := p.Limits.beside(p.Values)
	for _, d := range t.With {
		if v, err := d.Formula.code.Eval(constants); err == nil { // a formula that needs it reports it
			constants[d.Name] = v
		}
	}
	return constants
}
