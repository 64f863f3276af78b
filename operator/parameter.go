package operator

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// Parameter is a parameter's value in a problem, as text in the form that --set accepts.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (s *ParameterSpec) form() string {
	switch s.Type {
	case WordParameter:
		return "one of " + listed(s.Choices)
	case BoolParameter:
		return "true or false"
	case FloatParameter:
		return "a number"
	case ExpressionParameter:
		return "an expression of " + alternatives(s.Of)
	}
	return [...]string{"", "an integer", "an integer or a pair as 3x5", "an integer or a triple as 3x5x7"}[len(s.Names)]
}

func listed(values []expr.Value) string {
	words := lists.Of(values, expr.Value.String)
	return strings.Join(words, ", ")
}

// parse reads a value in the form that users write: 3, 3x5, true, 1e-5.
func (s *ParameterSpec) parse(text string) ([]expr.Value, error) {
	if s.Type == ExpressionParameter {
		return s.readChain(text)
	}
	parts := []string{text}
	if s.Type == IntParameter {
		parts = strings.Split(text, "x")
	}
	if len(parts) == 1 {
		parts = slices.Repeat(parts, len(s.Names))
	}
	values, wrong := make([]expr.Value, len(parts)), len(parts) != len(s.Names)
	for i, part := range parts {
		v, ok := s.read(part)
		values[i], wrong = v, wrong || !ok
	}
	if wrong {
		return nil, fmt.Errorf("`%s` is %s; got `%s`", s.Name, s.form(), text)
	}
	return values, nil
}

func (s *ParameterSpec) read(text string) (v expr.Value, ok bool) {
	switch s.Type {
	case WordParameter:
		return expr.String(text), slices.Contains(s.Choices, expr.String(text))
	case BoolParameter:
		lower := strings.ToLower(text)
		truth := lower == "true" || lower == "1"
		return expr.Bool(truth), truth || lower == "false" || lower == "0"
	case FloatParameter:
		x, err := strconv.ParseFloat(text, 64)
		v, ok = s.typed(expr.Float(x))
		return v, ok && err == nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return expr.Int(n), err == nil
}

// typed converts the value of an expression to the parameter's type, or returns false if the value does not fit.
func (s *ParameterSpec) typed(v expr.Value) (expr.Value, bool) {
	n, ok := v.AsInt()
	switch s.Type {
	case WordParameter:
		return v, true // the loader has checked the word
	case BoolParameter:
		return expr.Bool(n != 0), ok
	case FloatParameter:
		x, ok := v.AsFloat()
		return expr.Float(x + 0), ok && !math.IsNaN(x) && !math.IsInf(x, 0) // -0 + 0 is 0: one number has one name
	}
	return expr.Int(n), ok
}

func (s *ParameterSpec) admits(values []expr.Value) error {
	for _, v := range values {
		switch {
		case s.Min != nil && below(v, *s.Min):
			return fmt.Errorf("`%s` must be at least %v; got %s", s.Name, *s.Min, format(values))
		case s.Max != nil && below(*s.Max, v):
			return fmt.Errorf("`%s` must be at most %v; got %s", s.Name, *s.Max, format(values))
		case len(s.Choices) > 0 && !slices.ContainsFunc(s.Choices, v.Equal):
			return fmt.Errorf("`%s` must be one of %s; got %s", s.Name, listed(s.Choices), format(values))
		}
	}
	return nil
}

func below(a, b expr.Value) bool {
	order, _ := a.Compare(b)
	return order < 0
}

// format writes values in the form that parse reads, such as 3x3 for a pair.
func (s *ParameterSpec) format(values []expr.Value) string {
	if s.Type == ExpressionParameter {
		return values[0].String()
	}
	return format(values)
}

func format(values []expr.Value) string { return strings.ReplaceAll(listed(values), ", ", "x") }
