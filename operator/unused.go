package operator

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/space"
)

// A tunable that nothing mentions gives the same kernel under several names: it
// multiplies the space, and a search's time, for nothing.

// Warnings are doubts about a template that do not prevent its use.
func (t *Template) Warnings() []string {
	var warnings []string
	for _, tunable := range t.Tunables {
		macro := t.naming.Macro(tunable.Name)
		if n := len(tunable.Values); n > 1 && !t.computesWith(tunable) && !t.Source.mentions(macro) {
			warnings = append(warnings, fmt.Sprintf("nothing mentions `%s` of template %s: no kernel (as %s), constraint, derived value or launch; its %d values multiply the space for nothing",
				tunable.Name, t.Name, macro, n))
		}
	}
	return warnings
}

// Warnings are doubts about the operator's parameters: one that nothing mentions gives the same problem
// several names.
func (o *Operator) Warnings() []string {
	formulas := []Formula{o.Bytes, o.Flops, o.MathAuto}
	for _, r := range o.Requires {
		formulas = append(append(formulas, r.That), r.Because.formulas()...)
	}
	sources := []Source{o.Reference}
	if o.Compare != nil {
		sources = append(sources, o.Compare.Source)
	}
	for _, k := range o.FillKernels {
		sources = append(sources, k.Source)
	}
	formulas = append(formulas, lists.Of(o.Metrics, func(m Metric) Formula { return m.Formula })...)
	named := map[string]bool{}
	for _, a := range o.Arguments {
		named[a.TypeBy], named[a.OrderBy] = true, true
		formulas = append(append(formulas, a.Shape...), a.ATol, a.RTol)
		for _, f := range []*Formula{a.Scale, a.Value} {
			if f != nil {
				formulas = append(formulas, *f)
			}
		}
		if a.Fill != nil {
			formulas = append(formulas, a.Fill.Numbers...)
		}
	}
	for _, t := range o.Templates {
		formulas, sources = append(formulas, t.formulas()...), append(sources, t.Source)
	}
	formulas = append(formulas, lists.Of(o.Derived, func(d Definition) Formula { return d.Formula })...)
	for _, p := range o.Parameters {
		if p.Default != nil {
			formulas = append(formulas, *p.Default)
		}
	}
	for _, f := range formulas {
		for _, name := range namesIn(f) {
			named[name] = true
		}
	}
	var warnings []string
	for _, p := range o.Parameters {
		mentioned := func(name string) bool {
			return named[name] || slices.ContainsFunc(sources, func(s Source) bool { return s.mentions(o.Macros.Macro(name)) })
		}
		if !named[p.Name] && !slices.ContainsFunc(p.Names, mentioned) && o.Answers == nil {
			warnings = append(warnings, fmt.Sprintf("nothing mentions the parameter `%s`: no kernel, tensor, derived value or condition", p.Name))
		}
	}
	return warnings
}

// namesIn are the names of a formula, which may be absent.
func namesIn(f Formula) []string {
	if f.code == nil {
		return nil
	}
	return f.code.Names()
}

// computesWith tells whether an expression of the template names a tunable.
func (t *Template) computesWith(tunable space.Tunable) bool {
	return slices.ContainsFunc(t.formulas(), func(f Formula) bool { return slices.Contains(f.code.Names(), tunable.Name) })
}

// formulas are all that the template computes, except its estimate.
func (t *Template) formulas() []Formula {
	formulas := slices.Clone(t.Constraints)
	if t.When != nil {
		formulas = append(formulas, *t.When)
	}
	for i := range t.Launches {
		formulas = append(formulas, t.Launches[i].formulas()...)
	}
	for _, m := range t.TensorMaps {
		formulas = append(formulas, m.formulas()...)
	}
	for _, flag := range t.Flags {
		formulas = append(formulas, flag.formulas()...)
	}
	formulas = append(formulas, lists.Of(slices.Concat(t.With, t.Derived), func(d Definition) Formula { return d.Formula })...)
	return formulas
}

var (
	// unread are comments, and definitions that give a macro a value only if nothing else does.
	unread    = regexp.MustCompile(`(?s:/\*.*?\*/)|//[^\n]*|(?m:^[ \t]*#[ \t]*(?:ifndef|ifdef|define|undef)[ \t]+\w+)`)
	wordForms = regexp.MustCompile(`[A-Za-z_]\w*`)
)

// mentions tells whether a source, or what it includes, names a macro. Splitting texts into words
// is slow, so only texts that contain the name are split.
func (s Source) mentions(macro string) bool {
	return slices.ContainsFunc(s.texts(), func(text string) bool { return strings.Contains(text, macro) }) && s.words()[macro]
}

func (s Source) texts() []string {
	return append([]string{s.Text}, slices.Collect(maps.Values(s.Includes))...)
}

// words are the names that a source, or what it includes, mentions.
func (s Source) words() map[string]bool {
	words := map[string]bool{}
	for _, text := range s.texts() {
		for _, word := range wordForms.FindAllString(unread.ReplaceAllString(text, " "), -1) {
			words[word] = true
		}
	}
	return words
}
