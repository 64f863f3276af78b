package operator

import (
	"fmt"
	"math"

	"autotune/space"
)

// Estimate is what a configuration is expected to take, in a unit that all templates of
// the operator share. Its template must have an estimate.
func (p *Problem) Estimate(configuration space.Configuration) (float64, error) {
	t, _ := p.Operator.Template(configuration.Template)
	c, err := useOf(p, t).at(configuration.Values)
	if err != nil {
		return 0, err
	}
	v, err := c.value("estimate", *t.Estimate)
	if err != nil {
		return 0, err
	}
	x, number := v.AsFloat()
	if !number || math.IsNaN(x) {
		return 0, c.fault(*t.Estimate, "estimate", fmt.Errorf("it gives %v for %s, which must be a number", v, configuration))
	}
	return x, nil
}
