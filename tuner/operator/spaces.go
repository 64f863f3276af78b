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
	constants := p.constants()
	definitions := t.expanded()
	part := space.Part{Template: t.Name, Tunables: t.Tunables, Constants: constants}
	for _, f := range t.Constraints {
		part.Constraints = append(part.Constraints, substitute(f.Text, definitions))
	}
	for _, text := range t.launchConstraints() {
		text = substitute(text, definitions)
		if !alwaysTrue(text, t.Tunables, constants) {
			part.Constraints = append(part.Constraints, text)
		}
	}
	return part
}

// expanded gives the text of each derived value in terms of tunables and
// problem values only.
func (t *Template) expanded() map[string]string {
	definitions := map[string]string{}
	order, _ := definitionOrder(t.Derived) // Load refuses cycles
	for _, d := range order {
		definitions[d.Name] = substitute(d.Formula.Text, definitions)
	}
	return definitions
}

// launchConstraints are CUDA's limits on a launch, over the template's own
// launch expressions.
func (t *Template) launchConstraints() []string {
	var constraints []string
	for i, f := range t.Block {
		constraints = append(constraints, fmt.Sprintf("1 <= (%s) <= %d", f.Text, [...]int{1024, 1024, 64}[i]))
	}
	constraints = append(constraints, fmt.Sprintf("(%s) * (%s) * (%s) <= max_threads", t.Block[0].Text, t.Block[1].Text, t.Block[2].Text))
	constraints = append(constraints, fmt.Sprintf("0 <= (%s) <= max_shared", t.Shared.Text))
	for i, f := range t.Grid {
		constraints = append(constraints, fmt.Sprintf("1 <= (%s) <= %d", f.Text, [...]int{1<<31 - 1, 65535, 65535}[i]))
	}
	return constraints
}

// alwaysTrue tells whether a constraint holds for all values of the tunables it
// names, as far as that is quickly seen: such a constraint need not burden the space.
func alwaysTrue(text string, tunables []space.Tunable, constants map[string]expr.Value) bool {
	const quick = 20_000
	code, err := expr.Parse(text)
	if err != nil {
		return false
	}
	used, combinations := []space.Tunable{}, 1
	for _, t := range tunables {
		if slices.Contains(code.Names(), t.Name) {
			used = append(used, t)
			if combinations *= len(t.Values); combinations > quick {
				return false
			}
		}
	}
	slots := map[string]int{}
	for i, t := range used {
		slots[t.Name] = i
	}
	program, err := code.Compile(slots, constants)
	if err != nil {
		return false
	}
	values := make([]expr.Value, len(used))
	for n := range combinations {
		for i, t := range used {
			values[i] = t.Values[n%len(t.Values)]
			n /= len(t.Values)
		}
		if v, err := program.Eval(values); err != nil || !v.Truth() {
			return false
		}
	}
	return true
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
		part := p.part(t)
		if admits(part, t.Default) {
			defaults = append(defaults, t.defaultConfiguration())
			continue
		}
		s, err := space.New(part)
		if err != nil || s.Len() == 0 {
			continue
		}
		defaults = append(defaults, s.At(nearest(s, t)))
	}
	return defaults
}

// admits tells whether values satisfy all constraints of a part.
func admits(part space.Part, values map[string]expr.Value) bool {
	env := maps.Clone(part.Constants)
	maps.Copy(env, values)
	for _, text := range part.Constraints {
		code, err := expr.Parse(text)
		if err != nil {
			return false
		}
		if v, err := code.Eval(env); err != nil || !v.Truth() {
			return false
		}
	}
	return true
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
