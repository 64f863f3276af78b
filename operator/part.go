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

// Restriction selects part of a problem's space; its zero value selects all of it. A Restriction belongs to a search
// and not to the problem, so a trial of a restricted search is also a trial of the whole problem.
type Restriction struct {
	Templates []string // empty: all of them
	// Where lists conditions that may use the same names as constraints. A condition excludes templates that lack one
	// of the names in it.
	Where []string
	// Fixed gives a value for every tunable of one template, or is nil if the configuration is not fixed. In Fixed, the
	// key "template" names the template and can be omitted if there is only one.
	Fixed map[string]string
}

// IsZero tells whether the restriction selects the whole space.
func (r Restriction) IsZero() bool {
	return len(r.Templates) == 0 && len(r.Where) == 0 && r.Fixed == nil
}

// String describes the restriction in words, and returns "" if the restriction selects the whole space.
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

// Part is the set of configurations that a search may use: the problem's templates and a Restriction allow them.
type Part struct {
	Problem     *Problem
	Restriction Restriction
	uses        []use
	unserved    error // why no template serves the problem
	where       []Formula
	fixed       space.Values // of the only template; nil: not fixed
}

func (p *Problem) Whole() *Part {
	whole, _ := p.Part(Restriction{}) // the empty restriction has no errors
	return whole
}

// Part returns the part of the problem's space that a restriction selects. The error of Part is a *RequestError.
func (p *Problem) Part(r Restriction) (*Part, error) {
	part := &Part{Problem: p, Restriction: r}
	part.uses = lists.Of(p.Operator.Templates, func(t *Template) use { return useOf(p, t) })
	if len(r.Templates) > 0 {
		if err := part.only(r.Templates...); err != nil {
			return nil, err
		}
	}
	for _, text := range r.Where {
		if err := part.satisfy(text); err != nil {
			return nil, err
		}
	}
	if r.Fixed != nil {
		if err := part.fix(maps.Clone(r.Fixed)); err != nil {
			return nil, err
		}
	}
	part.serve()
	return part, nil
}

func (part *Part) refusal(hint, format string, args ...any) error {
	return part.Problem.Operator.refusal(hint, format, args...)
}

func (part *Part) names() []string {
	return lists.Of(part.uses, func(u use) string { return u.t.Name })
}

func (part *Part) only(names ...string) error {
	all := templateNames(part.Problem.Operator.Templates)
	for _, name := range names {
		if !slices.Contains(all, name) {
			return part.refusal("there are "+strings.Join(all, ", "), "there is no template `%s`", name)
		}
	}
	part.uses = lists.Where(part.uses, func(u use) bool { return slices.Contains(names, u.t.Name) })
	return nil
}

// satisfy adds a condition, and leaves out templates that lack one of the names in the condition.
func (part *Part) satisfy(text string) error {
	code, err := expr.Parse(text)
	if err != nil {
		return part.refusal("", "where: %v", err)
	}
	known, left := map[string]bool{}, []use{}
	for _, u := range part.uses {
		own := u.names()
		for _, name := range own {
			known[name] = true
		}
		if !slices.ContainsFunc(code.Names(), func(name string) bool { return !slices.Contains(own, name) }) {
			left = append(left, u)
		}
	}
	for _, name := range code.Names() {
		if !known[name] {
			component, near := part.Problem.Operator.componentsHint(name), tree.DidYouMean(name, sorted(known))
			hint := cmp.Or(component, near, "`autotune ops show` lists the names")
			return part.refusal(hint, "where `%s`: `%s` is not defined", text, name)
		}
	}
	if len(left) == 0 {
		return part.refusal("", "where `%s`: no template has all of these names", text)
	}
	part.uses, part.where = left, append(part.where, Formula{Text: text, code: code})
	return nil
}

// fix restricts the part to one template with one value for each of its tunables.
func (part *Part) fix(given map[string]string) error {
	if name, ok := given["template"]; ok {
		delete(given, "template")
		if err := part.only(name); err != nil {
			return err
		}
		if len(part.uses) == 0 {
			return part.refusal("", "the configuration is of the template `%s`, which the restriction leaves out", name)
		}
	}
	if len(part.uses) > 1 {
		names := strings.Join(part.names(), ", ")
		return part.refusal("", "the configuration names no template; add template=NAME, one of %s", names)
	}
	t := part.uses[0].t
	for _, name := range sorted(given) {
		if !slices.Contains(tunableNames(t), name) {
			return part.refusal("it has "+strings.Join(tunableNames(t), ", "), "template %s has no tunable `%s`", t.Name, name)
		}
	}
	part.fixed = space.Values{}
	var missing []string
	for _, tunable := range t.Tunables {
		text, ok := given[tunable.Name]
		if !ok {
			missing = append(missing, fmt.Sprintf("%s (%s)", tunable.Name, listed(tunable.Values)))
			continue
		}
		i := slices.IndexFunc(tunable.Values, func(v expr.Value) bool {
			return strings.EqualFold(v.String(), text) || macroValue(v) == text
		})
		if i < 0 {
			return part.refusal("its values are "+listed(tunable.Values), "template %s has no %s=%s", t.Name, tunable.Name, text)
		}
		part.fixed = append(part.fixed, space.Value{Name: tunable.Name, Value: tunable.Values[i]})
	}
	if len(missing) > 0 {
		return part.refusal("", "the configuration of template %s lacks %s", t.Name, strings.Join(missing, ", "))
	}
	return nil
}

func (part *Part) serve() {
	var served []use
	var refused []string
	for _, u := range part.uses {
		ok, err := u.serves()
		switch {
		case err != nil:
			part.uses, part.unserved = nil, err
			return
		case ok:
			served = append(served, u)
		default:
			refused = append(refused, fmt.Sprintf("%s (%s)", u.t.Name, u.refusal()))
		}
	}
	if part.uses = served; len(served) == 0 {
		what := "there are "
		if !part.Restriction.IsZero() {
			what = "asked for are "
		}
		part.unserved = part.refusal(what+strings.Join(refused, ", "), "no template serves %s on this device", part.Problem)
	}
}

// Space returns the union of the configurations of the part's templates.
func (part *Part) Space(ctx context.Context) (*space.Space, error) {
	if part.unserved != nil {
		return nil, part.unserved
	}
	s, err := space.New(ctx, lists.Of(part.uses, part.contribution)...)
	switch {
	case !part.Restriction.IsZero() && ctx.Err() == nil && (err != nil || s.Len() == 0):
		return nil, part.nothingLeft(ctx, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", part.Problem.Operator.File, err)
	case s.Len() == 0:
		hint := "its templates are " + strings.Join(part.names(), ", ")
		return nil, part.refusal(hint, "no template has a valid configuration for %s on this device", part.Problem)
	}
	return s, nil
}

// contribution returns the configurations of a template that satisfy its constraints, CUDA's limits on its launches,
// and the restriction.
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

// nothingLeft returns the error for a restriction that no configuration satisfies. If failed is not nil, the error says
// why the restriction's expressions cannot be evaluated.
func (part *Part) nothingLeft(ctx context.Context, failed error) error {
	p := part.Problem
	s, err := p.Space(ctx)
	switch {
	case err != nil:
		return err // the cause is not the restriction
	case failed != nil:
		return part.refusal("", "%s: %v", part.Restriction, failed)
	case part.fixed == nil:
		return part.refusal("", "nothing is left of the %d valid configurations of %s by %s", s.Len(), p, part.Restriction)
	}
	u, err := part.uses[0].at(part.fixed)
	if err != nil {
		return err
	}
	f := u.violated(part.where)
	if f == nil {
		return errors.New("every constraint is satisfied, and yet it is not in the space")
	}
	return part.refusal("", "%s is not valid here: `%s` is needed; here %s",
		space.Configuration{Template: u.t.Name, Values: part.fixed}, f.Text, valuesOf(*f, u.env))
}

// Defaults returns the default configuration of each template of the part; the first is the untuned baseline for
// speedups. If the default that op.yaml declares is not valid for the problem, Defaults returns the nearest valid
// configuration.
func (part *Part) Defaults(ctx context.Context) []space.Configuration {
	var defaults []space.Configuration
	for _, u := range part.uses {
		own := u.t.Default
		at, err := u.at(own.Values)
		asked := part.fixed == nil || slices.Equal(part.fixed, own.Values)
		if err == nil && asked && at.violated(part.where) == nil {
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

func (t *Template) defaultPositions() []float64 {
	positions := make([]float64, len(t.Tunables))
	for i, tunable := range t.Tunables {
		index := slices.Index(tunable.Values, t.Default.Values[i].Value)
		positions[i] = float64(index) / float64(max(len(tunable.Values)-1, 1))
	}
	return positions
}

func (part *Part) Warnings() (warnings []string) {
	for _, u := range part.uses {
		warnings = append(warnings, u.t.Warnings()...)
	}
	return warnings
}

// Space returns the union of the configurations of all templates that serve the problem.
func (p *Problem) Space(ctx context.Context) (*space.Space, error) { return p.Whole().Space(ctx) }

// Defaults returns the default configurations of all templates that serve the problem.
func (p *Problem) Defaults(ctx context.Context) []space.Configuration { return p.Whole().Defaults(ctx) }

// Admits tells whether a configuration is in the problem's space, without building the space. The configuration must
// have a declared value for each of its template's tunables.
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
