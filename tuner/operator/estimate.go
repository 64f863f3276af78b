package operator

import (
	"fmt"
	"math"

	"autotune/space"
)

// Estimates tells whether the operator says of a template what its configurations are
// expected to take.
func (p *Problem) Estimates(template string) bool {
	t, ok := p.Operator.Template(template)
	return ok && t.Estimate != nil
}

// Estimate is what a configuration is expected to take, in a unit that all templates of
// the operator share. Its template must have an estimate.
func (p *Problem) Estimate(c space.Configuration) (float64, error) {
	t, _ := p.Operator.Template(c.Template)
	env, err := p.environment(t, c.Values)
	if err != nil {
		return 0, err
	}
	v, err := t.Estimate.code.Eval(env)
	if err != nil {
		return 0, p.fault(*t.Estimate, "estimate", err)
	}
	x, number := v.AsFloat()
	if !number || math.IsNaN(x) {
		return 0, p.fault(*t.Estimate, "estimate", fmt.Errorf("it gives %v for %s, which must be a number", v, c))
	}
	return x, nil
}
