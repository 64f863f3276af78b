package operator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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
