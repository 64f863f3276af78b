package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/space"
)

// Space is the union of what all templates that serve the problem contribute,
// or the part of it that the problem's restriction leaves.
func (p *Problem) Space(ctx context.Context) (*space.Space, error) {
	applicable, err := p.applicable()
	if err != nil {
		return nil, err
	}
	parts := lists.Of(applicable, func(t *Template) space.Part { return use{p, t}.contribution() })
	s, err := space.New(ctx, parts...)
	if p.Restricted() && ctx.Err() == nil && (err != nil || s.Len() == 0) {
		return nil, p.part.nothingLeft(ctx, p, err)
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
		u := use{p, t}
		ok, err := u.serves()
		switch {
		case err != nil:
			return nil, err
		case ok:
			served = append(served, t)
		default:
			refused = append(refused, fmt.Sprintf("%s (%s)", t.Name, u.refusal()))
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

// Admits tells whether a configuration is in the problem's space, without making that. It
// is one of the operator's: a value for each tunable.
func (p *Problem) Admits(c space.Configuration) bool {
	return slices.ContainsFunc(p.part.templates, func(t *Template) bool {
		if t.Name != c.Template {
			return false
		}
		served, err := use{p, t}.serves()
		return err == nil && served && use{p, t}.admits(c.Values)
	})
}

func templateNames(templates []*Template) []string {
	return lists.Of(templates, func(t *Template) string { return t.Name })
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
		u := use{p, t}
		if u.admits(t.Default.Values) {
			defaults = append(defaults, t.Default)
			continue
		}
		s, err := space.New(ctx, u.contribution())
		if err != nil {
			continue
		}
		if i, ok := s.Nearest(0, t.defaultPositions()); ok {
			defaults = append(defaults, s.At(i))
		}
	}
	return defaults
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
