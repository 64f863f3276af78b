package operator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space"
	"autotune/space/expr"
)

// use is a template in a problem, with the values that its formulas can use: the problem's values, the device's limits
// and the template's `with`. A use made by useAt also contains a configuration's tunables and the template's derived
// values. No method of the type use changes the map env of its receiver.
type use struct {
	p   *Problem
	t   *Template
	env map[string]expr.Value
}

// useOf returns the use of a template in a problem, in which formulas cannot yet use tunables.
func useOf(p *Problem, t *Template) use {
	env := p.Limits.beside(p.Values)
	for _, d := range t.With {
		if v, err := d.Formula.code.Eval(env); err == nil { // a formula that needs it reports it
			env[d.Name] = v
		}
	}
	return use{p, t, env}
}

func (p *Problem) Constants(t *Template) map[string]expr.Value { return useOf(p, t).env }

func (u use) at(values space.Values) (use, error) {
	u.env = withValues(maps.Clone(u.env), values)
	for _, d := range u.t.Derived {
		v, err := u.value("derived value "+d.Name, d.Formula)
		if err != nil {
			return u, err
		}
		u.env[d.Name] = v
	}
	return u, nil
}

// useAt returns a configuration's template with the values that its formulas can use, and checks the tunables' values.
func useAt(p *Problem, c space.Configuration) (u use, err error) {
	t, ok := p.Operator.Template(c.Template)
	if !ok {
		hint := tree.NearestOrAll(c.Template, "there are", templateNames(p.Operator.Templates))
		return u, p.Operator.refusal(hint, "there is no template `%s`", c.Template)
	}
	var values space.Values
	for _, tunable := range t.Tunables {
		v, ok := c.Get(tunable.Name)
		if !ok || !slices.Contains(tunable.Values, v) {
			hint := fmt.Sprintf("its values are %v", tunable.Values)
			return u, p.Operator.refusal(hint, "configuration `%s` has no valid `%s`", c, tunable.Name)
		}
		values = append(values, space.Value{Name: tunable.Name, Value: v})
	}
	return useOf(p, t).at(values)
}

func withValues(env map[string]expr.Value, values space.Values) map[string]expr.Value {
	for _, v := range values {
		env[v.Name] = v.Value
	}
	return env
}

func (u use) tunables() space.Values {
	return lists.Of(tunableNames(u.t), func(name string) space.Value {
		return space.Value{Name: name, Value: u.env[name]}
	})
}

func (u use) known() space.Values {
	return append(u.tunables(), lists.Of(u.t.Derived, func(d Definition) space.Value {
		return space.Value{Name: d.Name, Value: u.env[d.Name]}
	})...)
}

// serves tells whether the template's `when` is true and its kernel can read the problem's free dimensions at run time.
func (u use) serves() (bool, error) {
	if !u.t.canFree(u.p.Free) {
		return false, nil
	}
	if u.t.When == nil {
		return true, nil
	}
	v, err := u.value("when", *u.t.When)
	return v.Truth(), err
}

func (u use) refusal() string {
	switch {
	case u.t.canFree(u.p.Free):
		return "when " + u.t.When.Text
	case len(u.t.Free) == 0:
		return "it leaves nothing free"
	}
	return "it leaves only " + strings.Join(u.t.Free, ", ") + " free"
}

func (u use) constraints() []Formula {
	return slices.Concat(u.t.Constraints, u.t.launchLimits(), u.sizeLimits())
}

func (u use) violated(further []Formula) *Formula {
	for _, f := range slices.Concat(u.constraints(), further) {
		if v, err := f.code.Eval(u.env); err != nil || !v.Truth() {
			return &f
		}
	}
	return nil
}

func (u use) names() []string {
	own := lists.Of(u.t.Derived, func(d Definition) string { return d.Name })
	return slices.Concat(sorted(u.env), tunableNames(u.t), own)
}

func (u use) value(what string, f Formula) (expr.Value, error) {
	v, err := f.code.Eval(u.env)
	if err != nil {
		return v, u.fault(f, what, err)
	}
	return v, nil
}

func (u use) fault(f Formula, what string, err error) error {
	where := f.Position
	where.File = cmp.Or(where.File, u.p.Operator.File)
	return &tree.Error{Position: where, Message: fmt.Sprintf("%s `%s` for %s: %v", what, f.Text, u.p, err)}
}

func (u use) interpolate(what string, t Interpolated) (string, error) {
	return t.fill(func(f Formula) (expr.Value, error) { return u.value(what, f) })
}
