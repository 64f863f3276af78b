package operator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/space"
	"autotune/space/expr"
)

// Space is the union of what all templates that serve the problem contribute.
func (p *Problem) Space() (*space.Space, error) {
	applicable, err := p.applicable()
	if err != nil {
		return nil, err
	}
	var parts []space.Part
	for _, t := range applicable {
		parts = append(parts, p.part(t))
	}
	s, err := space.New(parts...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Operator.File, err)
	}
	if s.Len() == 0 {
		return nil, &RequestError{Operator: p.Operator.Name, Message: fmt.Sprintf("no template has a valid configuration for %s on this device", p), Hint: "its templates are " + templateNames(applicable)}
	}
	return s, nil
}

// applicable lists the templates whose `when` is true for the problem.
func (p *Problem) applicable() ([]*Template, error) {
	var served []*Template
	var refused []string
	for _, t := range p.Operator.Templates {
		if t.When != nil {
			v, err := t.When.code.Eval(p.constants())
			if err != nil {
				return nil, p.fault(*t.When, "when", err)
			}
			if !v.Truth() {
				refused = append(refused, fmt.Sprintf("%s (when %s)", t.Name, t.When.Text))
				continue
			}
		}
		served = append(served, t)
	}
	if len(served) == 0 {
		return nil, &RequestError{Operator: p.Operator.Name, Message: fmt.Sprintf("no template serves %s on this device", p), Hint: "there are " + strings.Join(refused, ", ")}
	}
	return served, nil
}

func templateNames(templates []*Template) string {
	var names []string
	for _, t := range templates {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// part is one template's contribution: its own constraints and those that CUDA
// puts on every launch.
func (p *Problem) part(t *Template) space.Part {
	part := space.Part{Template: t.Name, Tunables: t.Tunables, Constants: p.constants(), Definitions: map[string]*expr.Expr{}}
	for _, d := range t.Derived {
		part.Definitions[d.Name] = d.Formula.code
	}
	for _, f := range t.Constraints {
		part.Constraints = append(part.Constraints, f.code)
	}
	for _, l := range t.launchLimits() {
		part.Constraints = append(part.Constraints, l.code)
	}
	return part
}

// launchLimit is a condition that CUDA puts on a launch.
type launchLimit struct {
	text string // for messages
	code *expr.Expr
}

// CUDA's limits on a launch, where v is what a template says.
var (
	withinBlock  = [...]string{"1 <= v <= 1024", "1 <= v <= 1024", "1 <= v <= 64"}
	withinGrid   = [...]string{"1 <= v <= 2147483647", "1 <= v <= 65535", "1 <= v <= 65535"}
	withinShared = "0 <= v <= max_shared"
	withinAll    = expr.MustParse("x * y * z <= max_threads")
)

// launchLimits are CUDA's limits over the template's own launch expressions.
func (t *Template) launchLimits() []launchLimit {
	var limits []launchLimit
	add := func(limit string, f Formula) {
		code := expr.MustParse(limit).Substitute(map[string]*expr.Expr{"v": f.code})
		limits = append(limits, launchLimit{strings.Replace(limit, "v", "("+f.Text+")", 1), code})
	}
	for i, f := range t.Block {
		add(withinBlock[i], f)
	}
	x, y, z := t.Block[0], t.Block[1], t.Block[2]
	threads := withinAll.Substitute(map[string]*expr.Expr{"x": x.code, "y": y.code, "z": z.code})
	limits = append(limits, launchLimit{fmt.Sprintf("(%s) * (%s) * (%s) <= max_threads", x, y, z), threads})
	add(withinShared, t.Shared)
	for i, f := range t.Grid {
		add(withinGrid[i], f)
	}
	return limits
}

// Defaults gives the default configuration of each template that serves the
// problem; the first is the untuned baseline that speedups refer to. A declared
// default that is not valid here is replaced by the valid configuration nearest
// to it.
func (p *Problem) Defaults() []space.Configuration {
	applicable, err := p.applicable()
	if err != nil {
		return nil
	}
	var defaults []space.Configuration
	for _, t := range applicable {
		if p.admits(t, t.Default) {
			defaults = append(defaults, t.defaultConfiguration())
			continue
		}
		s, err := space.New(p.part(t))
		if err != nil || s.Len() == 0 {
			continue
		}
		defaults = append(defaults, s.At(nearest(s, t)))
	}
	return defaults
}

// admits tells whether values satisfy all constraints of a template.
func (p *Problem) admits(t *Template, values map[string]expr.Value) bool {
	env, err := p.environment(t, values)
	return err == nil && !slices.ContainsFunc(p.part(t).Constraints, func(code *expr.Expr) bool {
		v, err := code.Eval(env)
		return err != nil || !v.Truth()
	})
}

// defaultConfiguration is the default as declared.
func (t *Template) defaultConfiguration() space.Configuration {
	c := space.Configuration{Template: t.Name}
	for _, tunable := range t.Tunables {
		c.Values = append(c.Values, space.Value{Name: tunable.Name, Value: t.Default[tunable.Name]})
	}
	return c
}

// nearest is the configuration that differs from the template's default in the
// fewest steps through the tunables' values.
func nearest(s *space.Space, t *Template) int64 {
	const patience = 1_000_000
	best, least := int64(0), -1
	for i := range min(s.Len(), patience) {
		distance := 0
		c := s.At(i)
		for k, tunable := range t.Tunables {
			from := slices.Index(tunable.Values, t.Default[tunable.Name])
			distance += abs(slices.Index(tunable.Values, c.Values[k].Value) - from)
		}
		if least < 0 || distance < least {
			best, least = i, distance
		}
	}
	return best
}

func abs(x int) int { return max(x, -x) }

func (p *Problem) fault(f Formula, what string, err error) error {
	return &Error{File: p.Operator.File, Line: f.Line, Column: f.Column, Message: fmt.Sprintf("%s `%s` for %s: %v", what, f.Text, p, err)}
}

// environment is what a template's expressions know of one configuration:
// problem values, limits, tunables and the template's derived values.
func (p *Problem) environment(t *Template, values map[string]expr.Value) (map[string]expr.Value, error) {
	env := p.constants()
	maps.Copy(env, values)
	order, _ := definitionOrder(t.Derived) // Load refuses cycles
	for _, d := range order {
		v, err := d.Formula.code.Eval(env)
		if err != nil {
			return nil, p.fault(d.Formula, "derived value "+d.Name, err)
		}
		env[d.Name] = v
	}
	return env, nil
}
