package operator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"autotune/space/expr"
)

// The type of a tensor's elements is written down, or a parameter of words names it:
// then one operator has tensors of several types.

// TypeText says of what type the elements are, as "bf16", or "f32, bf16 or f16, by type".
func (a ArgumentSpec) TypeText() string {
	if a.TypeBy == nil {
		return string(a.Type)
	}
	return fmt.Sprintf("%s, by %s", alternatives(a.TypeBy.Words), a.TypeBy.Name)
}

// alternatives are words as a sentence has them: "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// types are those that the elements may be of. A template may serve one of them alone.
func (a ArgumentSpec) types() []Type {
	if a.TypeBy == nil {
		return []Type{a.Type}
	}
	all := make([]Type, len(a.TypeBy.Words))
	for i, word := range a.TypeBy.Words {
		all[i] = Type(word)
	}
	return all
}

// typeIn is the type of the elements in a problem of these values.
func (a ArgumentSpec) typeIn(values map[string]expr.Value) Type {
	if a.TypeBy == nil {
		return a.Type
	}
	return Type(values[a.TypeBy.Name].String())
}

// tolerance is what a tensor is compared within unless the operator says otherwise.
func (a ArgumentSpec) tolerance() Formula {
	number := func(t Type) string { return strconv.FormatFloat(t.Tolerance(), 'g', -1, 64) }
	if a.TypeBy == nil {
		return constant(number(a.Type))
	}
	words := a.TypeBy.Words
	text := number(Type(words[len(words)-1]))
	for _, word := range slices.Backward(words[:len(words)-1]) {
		text = fmt.Sprintf("%s if %s == '%s' else %s", number(Type(word)), a.TypeBy.Name, word, text)
	}
	return constant(text)
}

// elementType reads a tensor's type, or the parameter that names it.
func (l *loader) elementType(n ast.Node, a *ArgumentSpec) {
	a.Type = F32
	if n == nil {
		return
	}
	names := Types()
	for _, spec := range l.o.Parameters {
		if spec.Type == WordParameter {
			names = append(names, spec.Name)
		}
	}
	name := l.oneOf(n, "type", names...)
	if a.TypeBy = l.o.parameter(name); a.TypeBy == nil {
		a.Type = Type(name)
		return
	}
	for _, word := range a.TypeBy.Words {
		if !slices.Contains(Types(), word) || Type(word).Kind() != Floating {
			l.failHint(at(n), "the types of a tensor that a parameter names are floating ones", "`%s` is a parameter of words, and its word `%s` is no such type", name, word)
		}
	}
	a.Type = Type(a.TypeBy.Words[0])
	if a.Value != nil {
		l.fail(at(n), "the scalar `%s` has one type, as f32; a parameter cannot name it", a.Name)
	}
}
