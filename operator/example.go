package operator

import (
	"errors"
	"slices"

	"autotune/operator/tree"
	"autotune/space/expr"
)

// TypicalLimits returns the limits of a recent GPU, for use before a device is known: with these limits, operators'
// examples are bound, and requests are checked before a device is opened.
func TypicalLimits() Limits {
	return Limits{
		Arch: 90, Target: "sm_90a", SMs: 132, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 227 << 10, SharedPerSM: 228 << 10,
		RegistersPerSM: 65536, WarpSize: 32, L2Bytes: 50 << 20, MemoryBytes: 80 << 30,
	}
}

// checkExample binds a newly loaded operator to its example and checks that the templates' defaults are valid for it.
// If there is no example, or a parameter has no default, checkExample checks only the constraints that depend on
// nothing but tunables and limits.
func (o *Operator) checkExample() {
	if o.Example == nil || !o.needsNothingSet() {
		for _, t := range o.Templates {
			t.checkConstraints(withValues(TypicalLimits().beside(nil), t.Default.Values))
		}
		return
	}
	for _, mode := range o.MathModes {
		p, err := o.Bind(Request{Shape: o.Example, Math: mode}, TypicalLimits())
		var request *RequestError
		if errors.As(err, &request) {
			o.exampleAt.Refuse("the example cannot be bound: %s", request.Message)
			return
		}
		for _, t := range o.Templates {
			t.checkDefault(p)
		}
	}
}

// needsNothingSet tells whether all parameters of the operator have a default or a preset.
func (o *Operator) needsNothingSet() bool {
	return !slices.ContainsFunc(o.Parameters, func(spec ParameterSpec) bool {
		_, preset := o.Preset[spec.Name]
		return spec.Default == nil && !preset
	})
}

func (t *Template) checkDefault(p *Problem) {
	u := useOf(p, t)
	if served, err := u.serves(); err != nil || !served {
		return
	}
	c, err := u.at(t.Default.Values)
	p.Operator.refuse(err)
	t.checkConstraints(c.env)
	if t.Estimate != nil {
		_, err := p.Estimate(t.Default)
		p.Operator.refuse(err)
	}
	for _, limit := range t.launchLimits() {
		if v, err := limit.code.Eval(c.env); err != nil || !v.Truth() {
			t.launchAt.Refuse("the default of template `%s` cannot be launched: %s does not hold", t.Name, limit)
		}
	}
}

// refuse records an error at the position of `example` in op.yaml.
func (o *Operator) refuse(err error) {
	var fault *tree.Error
	if errors.As(err, &fault) {
		o.exampleAt.Record(fault)
	}
}

// checkConstraints checks those constraints of the template whose names all have values in env.
func (t *Template) checkConstraints(env map[string]expr.Value) {
	for _, f := range t.Constraints {
		if slices.ContainsFunc(f.code.Names(), func(name string) bool { return env[name] == expr.Value{} }) {
			continue
		}
		v, err := f.code.Eval(env)
		if err != nil {
			f.Refuse("the constraint `%s` cannot be computed for the default: %v", f.Text, err)
		}
		if !v.Truth() {
			t.defaultAt.RefuseHint("here "+valuesOf(f, env), "the default violates the constraint `%s` of line %d", f.Text, f.Line)
		}
	}
}
