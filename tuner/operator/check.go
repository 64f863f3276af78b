package operator

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"autotune/space/expr"
)

// The names of an operator must mean something: each is declared once, and an
// expression uses only what is known where it stands.

var identifierForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// scope holds the names that an expression may use, and what each is.
type scope map[string]string

func (s scope) clone() scope { return maps.Clone(s) }

// limitNames are what expressions know of the device; see Limits.
var limitNames = []string{"arch", "target", "sm_count", "max_threads", "max_shared", "warp_size"}

// withLimits is the scope together with what is known of the device.
func (s scope) withLimits() scope {
	s = s.clone()
	for _, name := range limitNames {
		s[name] = "device limit"
	}
	return s
}

// reserved are names that nothing may be called: they mean something in
// expressions already, or, in upper case, to CUDA C++.
var reserved = append([]string{
	"math", "min", "max", "abs", "ceil_div", "int", "float", "bool", "str", "round", "len",
	"and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "lambda", "for",
	"null", "nan", "infinity", "math_tf32",
}, limitNames...)

// declare adds a name to a scope. Names become macros in upper case, so two
// that differ only in case clash.
func (l *loader) declare(s scope, where Position, name, what string) {
	if slices.Contains(reserved, strings.ToLower(name)) || strings.HasPrefix(name, "__") {
		l.fail(where, "the %s `%s` has a reserved name", what, name)
	}
	for other := range s {
		if strings.EqualFold(other, name) {
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
	unknown := undefined(f.code.Root(), s)
	if unknown == nil {
		return f
	}
	hint := didYouMean(unknown.Name, slices.Collect(maps.Keys(s)))
	if spec := l.o.parameter(unknown.Name); spec != nil {
		hint = "it is known as " + strings.Join(spec.Components(), ", ")
	}
	l.failHint(Position{f.Line, f.Column + unknown.Column - 1}, hint, "`%s` is not defined here", unknown.Name)
	return f
}

// undefined finds a name in an expression that a scope does not have.
func undefined(n *expr.Node, s scope) *expr.Node {
	if n.Op == expr.OpName && s[n.Name] == "" {
		return n
	}
	for _, arg := range n.Args {
		if name := undefined(arg, s); name != nil {
			return name
		}
	}
	return nil
}
