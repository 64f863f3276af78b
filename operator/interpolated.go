package operator

import (
	"strings"

	"autotune/operator/tree"
	"autotune/space/expr"
)

// Interpolated is text that may hold {expressions}, which stand for their values.
type Interpolated struct {
	Text string
	tree.Position
	parts []any // strings and Formulas
}

func (t Interpolated) String() string { return t.Text }

// formulas are the text's expressions.
func (t Interpolated) formulas() []Formula {
	var formulas []Formula
	for _, part := range t.parts {
		if f, ok := part.(Formula); ok {
			formulas = append(formulas, f)
		}
	}
	return formulas
}

// fill puts the expressions' values in their places.
func (t Interpolated) fill(value func(Formula) (expr.Value, error)) (string, error) {
	var b strings.Builder
	for _, part := range t.parts {
		f, ok := part.(Formula)
		if !ok {
			b.WriteString(part.(string))
			continue
		}
		v, err := value(f)
		if err != nil {
			return "", err
		}
		b.WriteString(v.String())
	}
	return b.String(), nil
}

// plainText is text without expressions.
func plainText(text string) Interpolated { return Interpolated{Text: text, parts: []any{text}} }
