package space

import (
	"fmt"
	"regexp"
	"strconv"

	"autotune/space/expr"
)

// The values of a tunable in a T1 document may be a string that Python evaluates
// to a list. Of Python's ways to make one these are known: a list of constants,
// range(...), list(range(...)), and [EXPRESSION for NAME in range(...)].
var (
	rangeForm         = regexp.MustCompile(`^\s*(?:list\s*\(\s*)?range\s*\(\s*(-?\d+)\s*(?:,\s*(-?\d+)\s*)?(?:,\s*(-?\d+)\s*)?\)\s*\)?\s*$`)
	comprehensionForm = regexp.MustCompile(`^\s*\[(.+?)\sfor\s+([A-Za-z_]\w*)\s+in\s+(range\s*\(.*\))\s*\]\s*$`)
)

func pythonList(source string) ([]expr.Value, error) {
	if m := comprehensionForm.FindStringSubmatch(source); m != nil {
		return comprehension(m[1], m[2], m[3])
	}
	if m := rangeForm.FindStringSubmatch(source); m != nil {
		return pythonRange(m[1:])
	}
	return expr.ParseList(source)
}

func comprehension(text, name, over string) ([]expr.Value, error) {
	form := rangeForm.FindStringSubmatch(over)
	if form == nil {
		return nil, fmt.Errorf("%s is no range of whole numbers, as range(1, 9)", over)
	}
	values, err := pythonRange(form[1:])
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

// pythonRange is range(stop), range(start, stop) or range(start, stop, step).
func pythonRange(words []string) ([]expr.Value, error) {
	bounds := [3]int64{0, 0, 1}
	if words[1] == "" {
		words = []string{"0", words[0], ""}
	}
	for i, word := range words {
		if word == "" {
			continue
		}
		v, err := strconv.ParseInt(word, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s is too large for a range", word)
		}
		bounds[i] = v
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
