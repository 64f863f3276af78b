package operator

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"autotune/space/expr"
)

// exampleLimits are those of a recent GPU; a template that cannot serve it is
// not checked.
var exampleLimits = Limits{
	Arch: 90, Target: "sm_90a", SMs: 132, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 227 << 10, SharedPerSM: 228 << 10,
	RegistersPerSM: 65536, WarpSize: 32, L2Bytes: 50 << 20, MemoryBytes: 80 << 30,
}

// checkExample binds a freshly loaded operator to its example and sees that the
// templates' defaults are valid there. Without an example that can be bound, it
// checks the constraints that need nothing but tunables and limits.
func (o *Operator) checkExample() error {
	if o.Example == nil || !o.needsNothingSet() {
		for _, t := range o.Templates {
			env := exampleLimits.values()
			maps.Copy(env, t.Default)
			if err := o.checkConstraints(t, env); err != nil {
				return err
			}
		}
		return nil
	}
	for _, mode := range o.MathModes {
		p, err := o.Bind(Request{Shape: o.Example, Math: mode}, exampleLimits)
		var request *RequestError
		if errors.As(err, &request) {
			return o.fault(o.exampleAt, "", "the example cannot be bound: %s", request.Message)
		}
		if err != nil {
			return o.fault(o.exampleAt, "", "the example cannot be bound: %v", err)
		}
		for _, t := range o.Templates {
			if err := p.checkDefault(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// needsNothingSet tells whether the operator can be bound with no parameter set.
func (o *Operator) needsNothingSet() bool {
	return !slices.ContainsFunc(o.Parameters, func(spec ParameterSpec) bool {
		_, preset := o.Preset[spec.Name]
		return spec.Default == nil && !preset
	})
}

// checkDefault checks a template's default for a problem, if the template serves it.
func (p *Problem) checkDefault(t *Template) error {
	if t.When != nil {
		if v, err := t.When.code.Eval(p.constants()); err != nil || !v.Truth() {
			return nil
		}
	}
	env, err := p.environment(t, t.Default)
	if err != nil {
		return err
	}
	if err := p.Operator.checkConstraints(t, env); err != nil {
		return err
	}
	for _, text := range t.launchConstraints() {
		code, err := expr.Parse(text)
		if err != nil {
			continue // cannot be: its parts parse
		}
		if v, err := code.Eval(env); err != nil || !v.Truth() {
			return p.Operator.fault(t.launchAt, "", "the default of template `%s` cannot be launched: %s does not hold", t.Name, text)
		}
	}
	return nil
}

// checkConstraints checks those of a template's constraints that name nothing
// beyond env.
func (o *Operator) checkConstraints(t *Template, env map[string]expr.Value) error {
	for _, f := range t.Constraints {
		here, known := "here", true
		for _, name := range f.code.Names() {
			v, ok := env[name]
			here += fmt.Sprintf(" %s=%v", name, v)
			known = known && ok
		}
		if !known {
			continue
		}
		v, err := f.code.Eval(env)
		if err != nil {
			return o.fault(f.Position, "", "the constraint `%s` cannot be computed for the default: %v", f.Text, err)
		}
		if !v.Truth() {
			return o.fault(t.defaultAt, here, "the default violates the constraint `%s` of line %d", f.Text, f.Line)
		}
	}
	return nil
}
