package operator

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A tunable that no kernel or formula uses gives the same kernel several names, which makes the space and the search
// larger without any benefit.

// Warnings returns messages about mistakes in a template that do not prevent its use, such as an unused tunable.
func (t *Template) Warnings() []string {
	var warnings []string
	for _, tunable := range t.Tunables {
		macro := t.naming.Macro(tunable.Name)
		if n := len(tunable.Values); n > 1 && !t.mentioned[tunable.Name] && !t.Source.mentions(macro) {
			warnings = append(warnings, fmt.Sprintf("nothing mentions `%s` of template %s: no kernel (as %s), constraint, derived value or launch; its %d values multiply the space for nothing",
				tunable.Name, t.Name, macro, n))
		}
	}
	return warnings
}

// Warnings returns messages about parameters that nothing uses, which give the same problem several names.
func (o *Operator) Warnings() (warnings []string) {
	for _, p := range o.Parameters {
		decides := func(a ArgumentSpec) bool { return a.TypeBy == p.Name || a.OrderBy == p.Name }
		mentioned := func(name string) bool {
			macro := o.Macros.Macro(name)
			return o.mentioned[name] || slices.ContainsFunc(o.sources(), func(s kernelSource) bool { return s.mentions(macro) })
		}
		if o.Answers == nil && !slices.ContainsFunc(o.Arguments, decides) && !slices.ContainsFunc(p.Names, mentioned) {
			warnings = append(warnings, fmt.Sprintf(
				"nothing mentions the parameter `%s`: no kernel, tensor, derived value or condition", p.Name))
		}
	}
	return warnings
}

var (
	// unread matches text that does not count as a use of a macro: comments, and directives such as #define and #ifdef
	// with the macro's name.
	unread    = regexp.MustCompile(`(?s:/\*.*?\*/)|//[^\n]*|(?m:^[ \t]*#[ \t]*(?:ifndef|ifdef|define|undef)[ \t]+\w+)`)
	wordForms = regexp.MustCompile(`[A-Za-z_]\w*`)
)

// mentions tells whether a source or its includes use a macro. To save time, mentions splits the source into words only
// if the source contains the name of the macro.
func (s Source) mentions(macro string) bool {
	return slices.ContainsFunc(s.texts(), func(text string) bool { return strings.Contains(text, macro) }) && s.words()[macro]
}

func (s Source) texts() []string {
	return append([]string{s.Text}, slices.Collect(maps.Values(s.Includes))...)
}

// words returns the names that a source and its includes use.
func (s Source) words() map[string]bool {
	words := map[string]bool{}
	for _, text := range s.texts() {
		for _, word := range wordForms.FindAllString(unread.ReplaceAllString(text, " "), -1) {
			words[word] = true
		}
	}
	return words
}
