package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space"
	"autotune/space/expr"
)

// Restriction asks for part of a problem's space. The zero value asks for all of it. It belongs to a search and not to
// the problem: trials of a part are trials of the problem.
type Restriction struct {
	Templates []string // empty: all of them
	// Where are expressions that must be true, over what constraints may name. A template that
	// lacks one of the names is left out.
	Where []string
	// Fixed gives every tunable of one template its value. That template may be
	// under "template", and need not be if there is only one. Nil: not fixed.
	Fixed map[string]string
}

// IsZero tells whether the restriction leaves nothing out.
func (r Restriction) IsZero() bool {
	return len(r.Templates) == 0 && len(r.Where) == 0 && r.Fixed == nil
}

// String says in words what the part is; "" for the whole.
func (r Restriction) String() string {
	var parts []string
	if len(r.Templates) > 0 {
		parts = append(parts, "template "+strings.Join(r.Templates, " or "))
	}
	parts = append(parts, lists.Of(r.Where, func(where string) string { return "where " + where })...)
	if r.Fixed != nil {
		words := []string{"the configuration"}
		words = append(words, lists.Of(sorted(r.Fixed), func(name string) string { return name + "=" + r.Fixed[name] })...)
		parts = append(parts, strings.Join(words, " "))
	}
	return strings.Join(parts, ", ")
}

// Part is what a search of a problem may choose from: the templates that serve the problem, without those that a
// Restriction leaves out.
type Part struct {
	Problem     *Problem
	Restriction Restriction
	served      []use
	unserved    error // why no template is left
	where       []Formula
	fixed       space.Values // of the only template; nil: not fixed
}

// Part is the part of the problem's space that a restriction asks for. A restriction that cannot be
// understood is a *RequestError.
func (p *Problem) Part(r Restriction) (*Part, error) {
	part := &Part{Problem: p, Restriction: r}
	templates, err := p.Operator.wanted(r.Templates)
	if err != nil {
		return nil, err
	}
	uses := lists.Of(templates, func(t *Template) use { return useOf(p, t) })
	for _, text := range r.Where {
		code, err := expr.Parse(text)
		if err != nil {
			return nil, p.Operator.refusal("", "where: %v", err)
		}
		f := Formula{Text: text, code: code}
		if uses, err = p.Operator.having(uses, f); err != nil {
			return nil, err
		}
		part.where = append(part.where, f)
	}
	if r.Fixed != nil {
		if uses, part.fixed, err = p.Operator.fix(uses, r.Fixed); err != nil {
			return nil, err
		}
	}
	part.serve(uses)
	return part, nil
}

// wanted are the templates with some names; without names, all.
func (o *Operator) wanted(names []string) ([]*Template, error) {
	all := templateNames(o.Templates)
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, o.refusal("there are "+strings.Join(all, ", "), "there is no template `%s`", name)
		}
	}
	return lists.Where(o.Templates, func(t *Template) bool { return len(names) == 0 || slices.Contains(names, t.Name) }), nil
}

// having are the templates that have all names of a condition.
func (o *Operator) having(uses []use, f Formula) ([]use, error) {
	known := map[string]bool{} // by any of the templates
	for _, u := range uses {
		for _, name := range u.names() {
			known[name] = true
		}
	}
	for _, name := range f.code.Names() {
		if !known[name] {
			hint := cmp.Or(o.componentsHint(name), tree.DidYouMean(name, sorted(known)), "`autotune ops show` lists the names")
			return nil, o.refusal(hint, "where `%s`: `%s` is not defined", f.Text, name)
		}
	}
	left := lists.Where(uses, func(u use) bool {
		defined := u.names()
		return !slices.ContainsFunc(f.code.Names(), func(name string) bool { return !slices.Contains(defined, name) })
	})
	if len(left) == 0 {
		return nil, o.refusal("", "where `%s`: no template has all of these names", f.Text)
	}
	return left, nil
}

// fix leaves one template, and one value for each of its tunables.
func (o *Operator) fix(uses []use, given map[string]string) ([]use, space.Values, error) {
	given = maps.Clone(given)
	if name, ok := given["template"]; ok {
		delete(given, "template")
		if _, err := o.wanted([]string{name}); err != nil {
			return nil, nil, err
		}
		uses = lists.Where(uses, func(u use) bool { return u.t.Name == name })
		if len(uses) == 0 {
			return nil, nil, o.refusal("", "the configuration is of the template `%s`, which the restriction leaves out", name)
		}
	}
	if len(uses) > 1 {
		names := lists.Of(uses, func(u use) string { return u.t.Name })
		return nil, nil, o.refusal("", "the configuration names no template; add template=NAME, one of %s", strings.Join(names, ", "))
	}
	t := uses[0].t
	for _, name := range sorted(given) {
		if !slices.Contains(tunableNames(t), name) {
			return nil, nil, o.refusal("it has "+strings.Join(tunableNames(t), ", "), "template %s has no tunable `%s`", t.Name, name)
		}
	}
	fixed := space.Values{}
	var missing []string
	for _, tunable := range t.Tunables {
		text, ok := given[tunable.Name]
		if !ok {
			missing = append(missing, fmt.Sprintf("%s (%s)", tunable.Name, listed(tunable.Values)))
			continue
		}
		i := slices.IndexFunc(tunable.Values, func(v expr.Value) bool { return strings.EqualFold(v.String(), text) || macroValue(v) == text })
		if i < 0 {
			return nil, nil, o.refusal(fmt.Sprintf("its values are %s", listed(tunable.Values)), "template %s has no %s=%s", t.Name, tunable.Name, text)
		}
		fixed = append(fixed, space.Value{Name: tunable.Name, Value: tunable.Values[i]})
	}
	if len(missing) > 0 {
		return nil, nil, o.refusal("", "the configuration of template %s lacks %s", t.Name, strings.Join(missing, ", "))
	}
	return uses, fixed, nil
}

// serve keeps the templates that serve the problem.
func (part *Part) serve(uses []use) {
	var refused []string
	for _, u := range uses {
		ok, err := u.serves()
		switch {
		case err != nil:
			part.served, part.unserved = nil, err
			return
		case ok:
			part.served = append(part.served, u)
		default:
			refused = append(refused, fmt.Sprintf("%s (%s)", u.t.Name, u.refusal()))
		}
	}
	if len(part.served) == 0 {
		what := "there are "
		if !part.Restriction.IsZero() {
			what = "asked for are "
		}
		part.unserved = part.Problem.Operator.refusal(what+strings.Join(refused, ", "), "no template serves %s on this device", part.Problem)
	}
}

// Space is the union of what the part's templates contribute.
func (part *Part) Space(ctx context.Context) (*space.Space, error) {
	if part.unserved != nil {
		return nil, part.unserved
	}
	o := part.Problem.Operator
	s, err := space.New(ctx, lists.Of(part.served, part.contribution)...)
	switch {
	case !part.Restriction.IsZero() && ctx.Err() == nil && (err != nil || s.Len() == 0):
		return nil, part.nothingLeft(ctx, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", o.File, err)
	case s.Len() == 0:
		names := lists.Of(part.served, func(u use) string { return u.t.Name })
		return nil, o.refusal("its templates are "+strings.Join(names, ", "), "no template has a valid configuration for %s on this device", part.Problem)
	}
	return s, nil
}

// contribution is a template's part of the space: its own constraints, those
// that every launch must satisfy, and what the restriction adds.
func (part *Part) contribution(u use) space.Part {
	own := space.Part{Template: u.t.Name, Tunables: u.t.Tunables, Constants: u.env, Definitions: map[string]*expr.Expr{}}
	for _, d := range u.t.Derived {
		own.Definitions[d.Name] = d.Formula.code
	}
	for _, f := range slices.Concat(u.constraints(), part.where) {
		own.Constraints = append(own.Constraints, f.code)
	}
	if part.fixed != nil {
		own.Tunables = slices.Clone(own.Tunables)
		for i := range own.Tunables {
			own.Tunables[i].Values = []expr.Value{part.fixed[i].Value}
		}
	}
	return own
}

// nothingLeft is the error of a restriction that leaves no configuration, or whose
// expressions cannot be evaluated, which failed says.
func (part *Part) nothingLeft(ctx context.Context, failed error) error {
	p, o := part.Problem, part.Problem.Operator
	s, err := p.Space(ctx)
	switch {
	case err != nil:
		return err // it is not due to the restriction
	case failed != nil:
		return o.refusal("", "%s: %v", part.Restriction, failed)
	case part.fixed == nil:
		return o.refusal("", "nothing is left of the %d valid configurations of %s by %s", s.Len(), p, part.Restriction)
	}
	u, err := part.served[0].at(part.fixed)
	if err != nil {
		return err
	}
	f := u.violated(part.where)
	if f == nil {
		return errors.New("every constraint is satisfied, and yet it is not in the space")
	}
	return o.refusal("", "%s is not valid here: `%s` is needed; here %s",
		space.Configuration{Template: u.t.Name, Values: part.fixed}, f.Text, valuesOf(*f, u.env))
}

// Defaults gives the default configuration of each template of the part; the first is the untuned baseline that
// speedups refer to. A declared default that is not valid here is replaced by the valid configuration nearest to it.
func (part *Part) Defaults(ctx context.Context) []space.Configuration {
	var defaults []space.Configuration
	for _, u := range part.served {
		own := u.t.Default
		if at, err := u.at(own.Values); err == nil && at.violated(part.where) == nil && (part.fixed == nil || slices.Equal(part.fixed, own.Values)) {
			defaults = append(defaults, own)
			continue
		}
		s, err := space.New(ctx, part.contribution(u))
		if err != nil {
			continue
		}
		if i, ok := s.Nearest(0, u.t.defaultPositions()); ok {
			defaults = append(defaults, s.At(i))
		}
	}
	return defaults
}

// defaultPositions is where the default lies along each tunable, from 0 to 1.
func (t *Template) defaultPositions() []float64 {
	positions := make([]float64, len(t.Tunables))
	for i, tunable := range t.Tunables {
		index := slices.Index(tunable.Values, t.Default.Values[i].Value)
		positions[i] = float64(index) / float64(max(len(tunable.Values)-1, 1))
	}
	return positions
}

// Warnings are those of the part's templates.
func (part *Part) Warnings() (warnings []string) {
	for _, u := range part.served {
		warnings = append(warnings, u.t.Warnings()...)
	}
	return warnings
}

// Whole is the part that leaves nothing out.
func (p *Problem) Whole() *Part {
	whole := &Part{Problem: p}
	whole.serve(lists.Of(p.Operator.Templates, func(t *Template) use { return useOf(p, t) }))
	return whole
}

// Space is the union of what all templates that serve the problem contribute.
func (p *Problem) Space(ctx context.Context) (*space.Space, error) { return p.Whole().Space(ctx) }

// Defaults are those of all templates that serve the problem.
func (p *Problem) Defaults(ctx context.Context) []space.Configuration { return p.Whole().Defaults(ctx) }

// Admits tells whether a configuration is in the problem's space, without making that. It
// is one of the operator's: a value for each tunable.
func (p *Problem) Admits(c space.Configuration) bool {
	t, known := p.Operator.Template(c.Template)
	if !known || !t.canFree(p.Free) {
		return false
	}
	u := useOf(p, t)
	if served, err := u.serves(); err != nil || !served {
		return false
	}
	at, err := u.at(c.Values)
	return err == nil && at.violated(nil) == nil
}

func tunableNames(t *Template) []string {
	return lists.Of(t.Tunables, func(tunable space.Tunable) string { return tunable.Name })
}

func templateNames(templates []*Template) []string {
	return lists.Of(templates, func(t *Template) string { return t.Name })
}
