package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// each goes through the names of values in an argument, those of lists too, until it is told to stop.
func (a Argument) each(yield func(string) bool) bool {
	if a.Value != "" && !yield(a.Value) {
		return false
	}
	for _, part := range a.List {
		if !part.each(yield) {
			return false
		}
	}
	return true
}

// renamed is the argument with other names of values, where names has one.
func (a Argument) renamed(names map[string]string) Argument {
	if name, known := names[a.Value]; known {
		a.Value = name
	}
	if a.List != nil {
		list := make([]Argument, len(a.List))
		for i, part := range a.List {
			list[i] = part.renamed(names)
		}
		a.List = list
	}
	return a
}

// Number is a constant number; ok is false for another argument.
func (a Argument) Number() (_ float64, ok bool) {
	switch n := a.Constant.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

func (a Argument) MarshalJSON() ([]byte, error) {
	switch number, isFloat := a.Constant.(float64); {
	case a.Value != "":
		return json.Marshal(map[string]string{"value": a.Value})
	case a.Python != "":
		return json.Marshal(map[string]string{"constant": a.Python})
	case a.List != nil:
		return json.Marshal(a.List)
	case isFloat && number == float64(int64(number)):
		return strconv.AppendFloat(nil, number, 'f', 1, 64), nil // 2.0 is no integer
	}
	return json.Marshal(a.Constant)
}

func (a *Argument) UnmarshalJSON(data []byte) error {
	switch data = bytes.TrimSpace(data); data[0] {
	case '[':
		a.List = []Argument{}
		return json.Unmarshal(data, &a.List)
	case '{':
		return a.object(data)
	case '"':
		var text string
		err := json.Unmarshal(data, &text)
		a.Constant = text
		return err
	case 't', 'f':
		a.Constant = data[0] == 't'
		return nil
	case 'n':
		return nil
	}
	if n, err := strconv.ParseInt(string(data), 10, 64); err == nil {
		a.Constant = n
		return nil
	}
	x, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return fmt.Errorf("the number %.40s is too large", data)
	}
	a.Constant = x
	return nil
}

func (a *Argument) object(data []byte) error {
	var keys map[string]string
	if err := json.Unmarshal(data, &keys); err != nil {
		return errors.New(`an argument is {"value": NAME} or {"constant": TEXT}`)
	}
	a.Value, a.Python = keys["value"], keys["constant"]
	if len(keys) != 1 || a.Value == "" && a.Python == "" {
		return errors.New(`an argument is {"value": NAME} or {"constant": TEXT}`)
	}
	return nil
}
