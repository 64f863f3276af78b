package operator

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The names of an operator must mean something: each is declared once, and an
// expression uses only what is known where it stands.

var identifierForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// IsName tells whether an operator, a tunable and the like may be called so.
func IsName(name string) bool { return identifierForm.MatchString(name) }

// scope holds the names that an expression may use, and what each is.
type scope map[string]string

// limitNames are what expressions know of the device.
var limitNames = sorted(Limits{}.values())

// withLimits is the scope together with what is known of the device.
func (s scope) withLimits() scope {
	s = maps.Clone(s)
	for _, name := range limitNames {
		s[name] = "device limit"
	}
	return s
}

// reserved are names that nothing may be called: they mean something in
// expressions already, or, in upper case, to CUDA C++.
var reserved = append([]string{
	"math", "min", "max", "abs", "ceil_div", "gcd", "int", "float", "bool", "str", "round", "len",
	"and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "lambda", "for",
	"null", "nan", "infinity", "math_tf32",
}, limitNames...)

// declare adds a name to a scope. Where names become macros in upper case, two
// that differ only in case clash.
func (l *loader) declare(s scope, where Position, name, what string) {
	if slices.Contains(reserved, strings.ToLower(name)) || strings.HasPrefix(name, "__") {
		l.fail(where, "the %s `%s` has a reserved name", what, name)
	}
	if _, named := l.lets[name]; named {
		l.fail(where, "the %s `%s` has the name of a value of `let`", what, name)
	}
	for other := range s {
		if l.o.MacroName(other) == l.o.MacroName(name) {
			l.clash(where, name, what, other, s[other])
		}
	}
	s[name] = what
}

func (l *loader) clash(where Position, name, what, other, otherWhat string) {
	if name == other {
		l.fail(where, "the %s `%s` has the name of a %s", what, name, otherWhat)
	}
	l.fail(where, "the %s `%s` and the %s `%s` are one macro, %s", what, name, otherWhat, other, strings.ToUpper(name))
}

// uses sees that an expression holds only names of a scope, and gives it back.
func (l *loader) uses(f Formula, s scope) Formula {
	unknown := slices.DeleteFunc(f.code.Names(), func(name string) bool { return s[name] != "" })
	if len(unknown) == 0 {
		return f
	}
	name := slices.MinFunc(unknown, func(a, b string) int { return f.code.Column(a) - f.code.Column(b) })
	hint := cmp.Or(l.o.componentsHint(name), didYouMean(name, slices.Collect(maps.Keys(s))))
	where := f.Position
	if !f.spelled {
		where.Column += f.code.Column(name) - 1
	}
	l.failHint(where, hint, "`%s` is not defined here", name)
	return f
}

// componentsHint says how expressions know a parameter; "" if name is none.
func (o *Operator) componentsHint(name string) string {
	if spec := o.parameter(name); spec != nil {
		return "it is known as " + strings.Join(spec.Components(), ", ")
	}
	return ""
}
