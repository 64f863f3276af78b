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

// Restriction asks for part of a problem's space. The zero value asks for all of
// it. A problem's name does not hold it: trials of a part are trials of the
// problem.
type Restriction struct {
	Templates []string // those wanted; none: every one
	// Where are expressions that must be true, over what constraints may name. A template that
	// lacks one of the names is left out.
	Where []string
	// Fixed gives every tunable of one template its value. That template may be
	// under "template", and need not be if there is only one. Nil: not fixed.
	Fixed map[string]string
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

// bound is a Restriction made ready for a problem.
type bound struct {
	templates []*Template
	where     []Formula
	fixed     space.Values // of the only template; nil: not fixed
}

// restrict settles which part of the space is asked for.
func (b binder) restrict(r Restriction) {
	b.Restriction = r
	b.part.templates = b.Operator.Templates
	if len(r.Templates) > 0 {
		b.part.templates = b.namedTemplates(r.Templates)
	}
	for _, text := range r.Where {
		code, err := expr.Parse(text)
		if err != nil {
			b.fail("", "where: %v", err)
		}
		b.where(Formula{Text: text, code: code})
	}
	if r.Fixed != nil {
		b.fix(r.Fixed)
	}
}

func (b binder) namedTemplates(names []string) []*Template {
	all := templateNames(b.Operator.Templates)
	for _, name := range names {
		if !slices.Contains(all, name) {
			b.fail("there are "+strings.Join(all, ", "), "there is no template `%s`", name)
		}
	}
	return slices.DeleteFunc(slices.Clone(b.Operator.Templates), func(t *Template) bool { return !slices.Contains(names, t.Name) })
}

// where adds a condition, and leaves out templates that lack one of its names.
func (b binder) where(f Formula) {
	known := map[string]bool{} // by any of the templates
	for _, t := range b.part.templates {
		for _, name := range (use{b.Problem, t}).names() {
			known[name] = true
		}
	}
	for _, name := range f.code.Names() {
		if !known[name] {
			hint := cmp.Or(b.Operator.componentsHint(name), tree.DidYouMean(name, sorted(known)), "`autotune ops show` lists the names")
			b.fail(hint, "where `%s`: `%s` is not defined", f.Text, name)
		}
	}
	b.part.templates = slices.DeleteFunc(slices.Clone(b.part.templates), func(t *Template) bool {
		defined := use{b.Problem, t}.names()
		return slices.ContainsFunc(f.code.Names(), func(name string) bool { return !slices.Contains(defined, name) })
	})
	if len(b.part.templates) == 0 {
		b.fail("", "where `%s`: no template has all of these names", f.Text)
	}
	b.part.where = append(b.part.where, f)
}

// fix leaves one template, and one value for each of its tunables.
func (b binder) fix(given map[string]string) {
	given = maps.Clone(given)
	if name, ok := given["template"]; ok {
		delete(given, "template")
		if wanted := b.namedTemplates([]string{name}); slices.Contains(b.part.templates, wanted[0]) {
			b.part.templates = wanted
		} else {
			b.fail("", "the configuration is of the template `%s`, which the restriction leaves out", name)
		}
	}
	if len(b.part.templates) > 1 {
		b.fail("", "the configuration names no template; add template=NAME, one of %s", strings.Join(templateNames(b.part.templates), ", "))
	}
	t := b.part.templates[0]
	for _, name := range sorted(given) {
		if !slices.ContainsFunc(t.Tunables, func(tunable space.Tunable) bool { return tunable.Name == name }) {
			b.fail("it has "+strings.Join(tunableNames(t), ", "), "template %s has no tunable `%s`", t.Name, name)
		}
	}
	b.part.fixed = space.Values{}
	var missing []string
	for _, tunable := range t.Tunables {
		text, ok := given[tunable.Name]
		if !ok {
			missing = append(missing, fmt.Sprintf("%s (%s)", tunable.Name, listed(tunable.Values)))
			continue
		}
		i := slices.IndexFunc(tunable.Values, func(v expr.Value) bool { return strings.EqualFold(v.String(), text) || macroValue(v) == text })
		if i < 0 {
			b.fail(fmt.Sprintf("its values are %s", listed(tunable.Values)), "template %s has no %s=%s", t.Name, tunable.Name, text)
		}
		b.part.fixed = append(b.part.fixed, space.Value{Name: tunable.Name, Value: tunable.Values[i]})
	}
	if len(missing) > 0 {
		b.fail("", "the configuration of template %s lacks %s", t.Name, strings.Join(missing, ", "))
	}
}

func tunableNames(t *Template) []string {
	return lists.Of(t.Tunables, func(tunable space.Tunable) string { return tunable.Name })
}

// Restricted tells whether only part of the problem's space is asked for.
func (p *Problem) Restricted() bool { return p.Restriction.String() != "" }

// Whole is the problem without its restriction.
func (p *Problem) Whole() *Problem {
	whole := *p
	whole.Restriction, whole.part = Restriction{}, bound{templates: p.Operator.Templates}
	return &whole
}

// nothingLeft is the error of a restriction that leaves no configuration, or whose
// expressions cannot be evaluated, which failed says.
func (b bound) nothingLeft(ctx context.Context, p *Problem, failed error) error {
	s, err := p.Whole().Space(ctx)
	switch {
	case err != nil:
		return err // it is not due to the restriction
	case failed != nil:
		return p.Operator.refusal("", "%s: %v", p.Restriction, failed)
	case b.fixed == nil:
		return p.Operator.refusal("", "nothing is left of the %d valid configurations of %s by %s", s.Len(), p, p.Restriction)
	}
	t := b.templates[0]
	c, err := use{p, t}.at(b.fixed)
	if err != nil {
		return err
	}
	f := c.violated()
	if f == nil {
		return errors.New("every constraint is satisfied, and yet it is not in the space")
	}
	return p.Operator.refusal("", "%s is not valid here: `%s` is needed; here %s",
		space.Configuration{Template: t.Name, Values: b.fixed}, f.Text, valuesOf(*f, c.env))
}
