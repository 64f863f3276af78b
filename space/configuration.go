package space

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"autotune/internal/jsonobject"
	"autotune/internal/lists"
	"autotune/space/expr"
)

// Configuration is a template and one value for each of its tunables. In JSON a Configuration has the fields "template"
// and "configuration", and so does a struct that embeds it.
type Configuration struct {
	Template string `json:"template"`
	Values   Values `json:"configuration"`
}

// Values are the values of tunables, in the order in which the template declares them. Values are written as a JSON
// object; reading that object preserves the order of the tunables and the types of numbers.
type Values []Value

type Value struct {
	Name string
	expr.Value
}

func (c Configuration) Get(name string) (expr.Value, bool) { return c.Values.Get(name) }

func (v Values) Get(name string) (expr.Value, bool) {
	if i := slices.IndexFunc(v, func(one Value) bool { return one.Name == name }); i >= 0 {
		return v[i].Value, true
	}
	return expr.Value{}, false
}

func (v Values) Differences(others Values) int {
	n := 0
	for _, one := range v {
		if other, has := others.Get(one.Name); !has || !other.Equal(one.Value) {
			n++
		}
	}
	return n
}

const templateName = "template"

// Flat returns a configuration as a map from the names of tunables to values, with the template as one more value
// called "template". Result formats of autotuners write configurations as Flat returns them.
func (c Configuration) Flat() Values {
	flat := slices.Clone(c.Values)
	if c.Template != "" {
		flat = append(flat, Value{templateName, expr.String(c.Template)})
	}
	slices.SortFunc(flat, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	return flat
}

// Unflatten is the inverse of Flat except for the order of the values. If the map contains no string named "template",
// Unflatten leaves the configuration's template empty.
func Unflatten(flat Values) Configuration {
	i := slices.IndexFunc(flat, func(v Value) bool { return v.Name == templateName && v.Kind() == expr.KindString })
	if i < 0 {
		return Configuration{Values: flat}
	}
	return Configuration{Template: flat[i].String(), Values: slices.Delete(slices.Clone(flat), i, i+1)}
}

// Words returns the values as words such as "a=1", in order.
func (v Values) Words() []string {
	return lists.Of(v, func(one Value) string { return one.Name + "=" + one.Value.String() })
}

// Key returns a string that identifies the configuration: "template|a=1|b=2".
func (c Configuration) Key() string { return c.join("|") }

// String returns the configuration for display: "template a=1 b=2".
func (c Configuration) String() string { return c.join(" ") }

func (c Configuration) join(separator string) string {
	words := c.Values.Words()
	if c.Template != "" {
		words = append([]string{c.Template}, words...)
	}
	return strings.Join(words, separator)
}

func (v Values) MarshalJSON() ([]byte, error) {
	return jsonobject.Write(v, func(one Value) (string, any) { return one.Name, one.Value })
}

// UnmarshalJSON reads the object that MarshalJSON writes, or null.
func (v *Values) UnmarshalJSON(data []byte) error {
	*v = nil
	return jsonobject.Read(data, func(name string, text json.RawMessage) error {
		one := Value{Name: name}
		if err := json.Unmarshal(text, &one.Value); err != nil || one.Kind() == expr.KindNone {
			return fmt.Errorf("configuration.%s: a value is a number, a bool or a string, not %.40s", name, text)
		}
		*v = append(*v, one)
		return nil
	})
}
