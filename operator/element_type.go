package operator

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"autotune/space/expr"
)

// The type of a tensor's elements is written down, or a parameter of words names it:
// then one operator has tensors of several types.

// TypeText says of what type the elements are, as "bf16", or "f32, bf16 or f16, by type".
func (a ArgumentSpec) TypeText() string {
	if a.TypeBy == "" {
		return string(a.Type)
	}
	return fmt.Sprintf("%s, by %s", alternatives(a.Types), a.TypeBy)
}

// alternatives are words as a sentence has them: "a, b or c".
func alternatives[T ~string](words []T) string {
	text := string(words[0])
	for i, word := range words[1:] {
		text += map[bool]string{true: " or ", false: ", "}[i == len(words)-2] + string(word)
	}
	return text
}

func (a ArgumentSpec) typeIn(values map[string]expr.Value) Type {
	return cmp.Or(a.Type, Type(values[a.TypeBy].String()))
}

// tolerance is what a tensor is compared within unless the operator says otherwise.
func (a ArgumentSpec) tolerance() Formula {
	text := ""
	for i, t := range slices.Backward(a.Types) {
		number := strconv.FormatFloat(t.Tolerance(), 'g', -1, 64)
		if i == len(a.Types)-1 {
			text = number
			continue
		}
		text = fmt.Sprintf("%s if %s == '%s' else %s", number, a.TypeBy, t, text)
	}
	return constant(text)
}

// TypeParameter is the parameter that names the type of tensors; "": none does.
func (o *Operator) TypeParameter() string {
	for _, a := range o.Arguments {
		if a.TypeBy != "" {
			return a.TypeBy
		}
	}
	return ""
}
