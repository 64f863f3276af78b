package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/operator/tree"
)

// Space is the union of what all templates that serve the problem contribute,
// or the part of it that the problem's restriction leaves.
func (p *Problem) Space(ctx context.Context) (*space.Space, error) {
	applicable, err := p.applicable()
	if err != nil {
		return nil, err
	}
	var parts []space.Part
	for _, t := range applicable {
		parts = append(parts, p.contribution(t))
	}
	s, err := space.New(ctx, parts...)
	if p.Restricted() && ctx.Err() == nil && (err != nil || s.Len() == 0) {
		return nil, p.nothingLeft(ctx, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Operator.File, err)
	}
	if s.Len() == 0 {
		return nil, p.Operator.refusal("its templates are "+strings.Join(templateNames(applicable), ", "),
			"no template has a valid configuration for %s on this device", p)
	}
	return s, nil
}

// applicable lists the templates that serve the problem, of those asked for.
func (p *Problem) applicable() ([]*Template, error) {
	var served []*Template
	var refused []string
	for _, t := range p.part.templates {
		ok, err := p.serves(t)
		switch {
		case err != nil:
			return nil, err
		case ok:
			served = append(served, t)
		default:
			refused = append(refused, fmt.Sprintf("%s (when %s)", t.Name, t.When))
		}
	}
	if len(served) == 0 {
		what := "there are "
		if p.Restricted() {
			what = "asked for are "
		}
		return nil, p.Operator.refusal(what+strings.Join(refused, ", "), "no template serves %s on this device", p)
	}
	return served, nil
}

// serves tells whether a template's `when` is true for the problem.
func (p *Problem) serves(t *Template) (bool, error) {
	if t.When == nil {
		return true, nil
	}
	v, err := t.When.code.Eval(p.Constants(t))
	if err != nil {
		return false, p.fault(*t.When, "when", err)
	}
	return v.Truth(), nil
}

func templateNames(templates []*Template) []string {
	names := make([]string, len(templates))
	for i, t := range templates {
		names[i] = t.Name
	}
	return names
}

// contribution is one template's part of the space: its own constraints, those
// that CUDA puts on every launch, and what the restriction adds.
func (p *Problem) contribution(t *Template) space.Part {
	part := space.Part{Template: t.Name, Tunables: t.Tunables, Constants: p.Constants(t), Definitions: map[string]*expr.Expr{}}
	for _, d := range t.Derived {
		part.Definitions[d.Name] = d.Formula.code
	}
	for _, f := range slices.Concat(t.Constraints, t.launchLimits()) {
		part.Constraints = append(part.Constraints, f.code)
	}
	p.part.restrict(&part)
	return part
}

// Defaults gives the default configuration of each template that serves the
// problem; the first is the untuned baseline that speedups refer to. A declared
// default that is not valid here is replaced by the valid configuration nearest
// to it.
func (p *Problem) Defaults(ctx context.Context) []space.Configuration {
	applicable, err := p.applicable()
	if err != nil {
		return nil
	}
	var defaults []space.Configuration
	for _, t := range applicable {
		if p.admits(t, t.Default.Values) {
			defaults = append(defaults, t.Default)
			continue
		}
		s, err := space.New(ctx, p.contribution(t))
		if err != nil {
			continue
		}
		if i, ok := s.Nearest(0, t.defaultPositions()); ok {
			defaults = append(defaults, s.At(i))
		}
	}
	return defaults
}

// admits tells whether values are in a template's contribution.
func (p *Problem) admits(t *Template, values space.Values) bool {
	part := p.contribution(t)
	for i, tunable := range part.Tunables {
		if !slices.Contains(tunable.Values, values[i].Value) {
			return false
		}
	}
	env, err := p.environment(t, values)
	return err == nil && !slices.ContainsFunc(part.Constraints, func(code *expr.Expr) bool {
		v, err := code.Eval(env)
		return err != nil || !v.Truth()
	})
}

// defaultPositions is where the default lies along each tunable, as
// space.Positions counts.
func (t *Template) defaultPositions() []float64 {
	positions := make([]float64, len(t.Tunables))
	for i, tunable := range t.Tunables {
		index := slices.Index(tunable.Values, t.Default.Values[i].Value)
		positions[i] = float64(index) / float64(max(len(tunable.Values)-1, 1))
	}
	return positions
}

func (p *Problem) fault(f Formula, what string, err error) error {
	where := f.Position
	where.File = cmp.Or(where.File, p.Operator.File)
	return &tree.Error{Position: where, Message: fmt.Sprintf("%s `%s` for %s: %v", what, f.Text, p, err)}
}

// environment is what a template's expressions know of one configuration:
// problem values, limits, tunables and the template's derived values.
func (p *Problem) environment(t *Template, values space.Values) (map[string]expr.Value, error) {
	env := withValues(p.Constants(t), values)
	for _, d := range t.Derived {
		v, err := d.Formula.code.Eval(env)
		if err != nil {
			return nil, p.fault(d.Formula, "derived value "+d.Name, err)
		}
		env[d.Name] = v
	}
	return env, nil
}

// withValues adds the values of tunables to what expressions know.
func withValues(env map[string]expr.Value, values space.Values) map[string]expr.Value {
	for _, v := range values {
		env[v.Name] = v.Value
	}
	return env
}
