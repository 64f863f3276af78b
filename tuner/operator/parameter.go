package operator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"autotune/space/expr"
)

// Parameter is a parameter's value in a problem, written as --set takes it.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// parse reads a value as a user writes it: 3, 3x5, true.
func (s *ParameterSpec) parse(text string) ([]int64, error) {
	if s.Type == WordParameter {
		i := slices.Index(s.Words, text)
		if i < 0 {
			return nil, fmt.Errorf("`%s` is one of %s; got `%s`", s.Name, strings.Join(s.Words, ", "), text)
		}
		return []int64{int64(i)}, nil
	}
	if s.Type == BoolParameter {
		switch strings.ToLower(text) {
		case "true", "1":
			return []int64{1}, nil
		case "false", "0":
			return []int64{0}, nil
		}
		return nil, fmt.Errorf("`%s` is true or false; got `%s`", s.Name, text)
	}
	parts := strings.Split(text, "x")
	if len(parts) == 1 {
		parts = slices.Repeat(parts, len(s.Suffix))
	}
	var values []int64
	for _, part := range parts {
		v, err := strconv.ParseInt(part, 10, 64)
		if err != nil || len(parts) != len(s.Suffix) {
			forms := [...]string{"", "an integer", "an integer or a pair as 3x5", "an integer or a triple as 3x5x7"}
			return nil, fmt.Errorf("`%s` is %s; got `%s`", s.Name, forms[len(s.Suffix)], text)
		}
		values = append(values, v)
	}
	return values, nil
}

// admits checks the bounds.
func (s *ParameterSpec) admits(values []int64) error {
	for _, v := range values {
		switch {
		case s.Min != nil && v < *s.Min:
			return fmt.Errorf("`%s` must be at least %d; got %s", s.Name, *s.Min, s.format(values))
		case s.Max != nil && v > *s.Max:
			return fmt.Errorf("`%s` must be at most %d; got %s", s.Name, *s.Max, s.format(values))
		case len(s.Choices) > 0 && !slices.Contains(s.Choices, v):
			return fmt.Errorf("`%s` must be one of %v; got %s", s.Name, s.Choices, s.format(values))
		}
	}
	return nil
}

// format writes values as parse reads them, a pair always as a pair.
func (s *ParameterSpec) format(values []int64) string {
	if s.Type == WordParameter {
		return s.Words[values[0]]
	}
	if s.Type == BoolParameter {
		return strconv.FormatBool(values[0] != 0)
	}
	return FormatShape(values)
}

// value is a component's value as expressions know it; a word's number is its place
// among the words.
func (s *ParameterSpec) value(v int64) expr.Value {
	if s.Type == WordParameter {
		return expr.String(s.Words[v])
	}
	if s.Type == BoolParameter {
		return expr.Bool(v != 0)
	}
	return expr.Int(v)
}
