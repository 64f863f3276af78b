package operator

import (
	"slices"

	"autotune/space/expr"
)

// A template may have workspaces of its own, which only its launches are passed, and only where
// their `arguments` name them. A problem lists them behind the operator's tensors. They are empty
// if neither the template nor one that shares them serves the problem.

// workspace is a template's own workspace for the problem.
func (b binder) workspace(spec ArgumentSpec) Argument {
	t, _ := b.Operator.Template(spec.Owner)
	env := b.Constants(t)
	served := slices.ContainsFunc(b.Operator.Templates, func(other *Template) bool {
		serves, err := use{b.Problem, other}.serves()
		return other.has(t.Name) && err == nil && serves
	})
	if !served {
		return Argument{Name: spec.Name, Role: Workspace, Type: spec.Type, Shape: []int64{0}, Owner: t.Name}
	}
	for _, d := range t.Derived {
		if !slices.ContainsFunc(d.Formula.code.Names(), func(name string) bool { return env[name] == expr.Value{} }) {
			env[d.Name] = b.within(env).eval(d.Name, d.Formula)
		}
	}
	a := b.within(env).argument(ArgumentSpec{Name: spec.Name, Role: Workspace, Type: spec.Type, Shape: spec.Shape})
	a.Owner = t.Name
	return a
}

// within is a binder of the same problem with other values.
func (b binder) within(env map[string]expr.Value) binder {
	p := *b.Problem
	p.Values = env
	return binder{&p}
}

// ownWorkspaces are the templates' workspaces that launches take.
func ownWorkspaces(all []Argument, launches Launches) []Argument {
	return slices.DeleteFunc(slices.Clone(all), func(a Argument) bool { return a.Owner == "" || !launches.Name(a.Name) })
}
