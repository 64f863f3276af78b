package space

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"autotune/space/expr"
)

// The values of a tunable in a T1 document may be a string that Python evaluates
// to a list. Of Python's ways to make one these are known: a list of constants,
// range(...), list(range(...)), [EXPRESSION for NAME in range(...)], and sums of these.
var (
	rangeForm         = regexp.MustCompile(`^\s*range\s*\((.*)\)\s*$`)
	listForm          = regexp.MustCompile(`^\s*list\s*\((.*)\)\s*$`)
	comprehensionForm = regexp.MustCompile(`^\s*\[(.+?)\sfor\s+([A-Za-z_]\w*)\s+in\s+(range\s*\(.*\))\s*\]\s*$`)
	listStart         = regexp.MustCompile(`^\s*(?:\[|list\b|range\b)`)
)

func pythonList(source string) ([]expr.Value, error) {
	var values []expr.Value
	for _, part := range summands(source) {
		more, err := oneList(part)
		if err != nil {
			return nil, err
		}
		if values = append(values, more...); len(values) > publishedBound.Values {
			return nil, fmt.Errorf("it has more than %d values", publishedBound.Values)
		}
	}
	return values, nil
}

// summands parts a sum of lists; another text is left whole.
func summands(source string) []string {
	var parts []string
	depth, start := 0, 0
	for i, c := range source {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '+':
			if depth == 0 {
				parts = append(parts, source[start:i])
				start = i + 1
			}
		}
	}
	parts = append(parts, source[start:])
	if slices.ContainsFunc(parts, func(part string) bool { return !listStart.MatchString(part) }) {
		return []string{source}
	}
	return parts
}

func oneList(source string) ([]expr.Value, error) {
	if m := listForm.FindStringSubmatch(source); m != nil {
		source = m[1]
	}
	if m := comprehensionForm.FindStringSubmatch(source); m != nil {
		return comprehension(m[1], m[2], m[3])
	}
	if m := rangeForm.FindStringSubmatch(source); m != nil {
		return pythonRange(m[1])
	}
	return expr.ParseList(source)
}

func comprehension(text, name, over string) ([]expr.Value, error) {
	form := rangeForm.FindStringSubmatch(over)
	if form == nil {
		return nil, fmt.Errorf("%s is no range of whole numbers, as range(1, 9)", over)
	}
	values, err := pythonRange(form[1])
	if err != nil {
		return nil, err
	}
	e, err := expr.Parse(text)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		if values[i], err = e.Eval(map[string]expr.Value{name: v}); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// pythonRange is range(stop), range(start, stop) or range(start, stop, step), of
// constant expressions.
func pythonRange(arguments string) ([]expr.Value, error) {
	given, err := expr.ParseList("[" + arguments + "]")
	if err != nil {
		return nil, err
	}
	bounds := [3]int64{0, 0, 1}
	if len(given) == 1 {
		given = append([]expr.Value{expr.Int(0)}, given...)
	}
	if len(given) < 2 || len(given) > 3 {
		return nil, fmt.Errorf("range(%s) takes one number to three", arguments)
	}
	for i, v := range given {
		n, ok := v.AsInt()
		if !ok || n > math.MaxInt32 || n < math.MinInt32 {
			return nil, fmt.Errorf("range(%s): %s is no whole number, or too large for a range", arguments, v)
		}
		bounds[i] = n
	}
	start, stop, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return nil, fmt.Errorf("a range cannot go in steps of 0")
	}
	if n := (stop - start) / step; n > int64(publishedBound.Values) {
		return nil, fmt.Errorf("the range has %d values; %d are the most", n, publishedBound.Values)
	}
	var values []expr.Value
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		values = append(values, expr.Int(i))
	}
	return values, nil
}
