package space

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"autotune/space/expr"
)

// Configuration is a template and one value for each of its tunables. As JSON it
// has the fields "template" and "configuration"; what embeds one has them too.
type Configuration struct {
	Template string `json:"template"`
	Values   Values `json:"configuration"`
}

// Values are the values of tunables, in the order in which the template declares
// them. As JSON they are an object; order and the types of numbers survive.
type Values []Value

// Value is the value of one tunable.
type Value struct {
	Name string
	expr.Value
}

// Get returns the value of the tunable name.
func (c Configuration) Get(name string) (expr.Value, bool) { return c.Values.Get(name) }

// Get returns the value of that name.
func (v Values) Get(name string) (expr.Value, bool) {
	if i := slices.IndexFunc(v, func(one Value) bool { return one.Name == name }); i >= 0 {
		return v[i].Value, true
	}
	return expr.Value{}, false
}

// templateName is what a flat configuration calls its template.
const templateName = "template"

// Flat returns the values with the template among them, under "template", which
// is how other autotuners' formats write a configuration.
func (c Configuration) Flat() Values {
	if c.Template == "" {
		return c.Values
	}
	return append(slices.Clone(c.Values), Value{templateName, expr.String(c.Template)})
}

// Unflatten is the inverse of Flat. Without a string under "template" the
// configuration's template is empty.
func Unflatten(flat Values) Configuration {
	i := slices.IndexFunc(flat, func(v Value) bool { return v.Name == templateName && v.Kind() == expr.KindString })
	if i < 0 {
		return Configuration{Values: flat}
	}
	return Configuration{Template: flat[i].String(), Values: slices.Delete(slices.Clone(flat), i, i+1)}
}

// Words are the values as "a=1", in order.
func (v Values) Words() []string {
	words := make([]string, len(v))
	for i, one := range v {
		words[i] = one.Name + "=" + one.Value.String()
	}
	return words
}

// Key returns a string that identifies the configuration: "template|a=1|b=2".
func (c Configuration) Key() string { return c.join("|") }

// String shows the configuration to a reader: "template a=1 b=2".
func (c Configuration) String() string { return c.join(" ") }

func (c Configuration) join(separator string) string {
	words := c.Values.Words()
	if c.Template != "" {
		words = append([]string{c.Template}, words...)
	}
	return strings.Join(words, separator)
}

// MarshalJSON writes an object.
func (v Values) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, one := range v {
		name, err := json.Marshal(one.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(one.Value)
		if err != nil {
			return nil, fmt.Errorf("configuration.%s: %w", one.Name, err)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes, and null.
func (v *Values) UnmarshalJSON(data []byte) error {
	*v = nil
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	switch t, err := d.Token(); {
	case err != nil:
		return err
	case t == nil:
		return nil
	case t != json.Delim('{'):
		return fmt.Errorf("configuration must be an object, not %s", data)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var x any
		if err := d.Decode(&x); err != nil {
			return err
		}
		value, err := expr.FromGo(x)
		if err != nil {
			return fmt.Errorf("configuration.%s: a value is a number, a bool or a string: %w", name, err)
		}
		*v = append(*v, Value{name.(string), value})
	}
	return nil
}
