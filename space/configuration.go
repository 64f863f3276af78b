package space

import (
	"slices"
	"strings"

	"autotune/space/expr"
)

// Configuration is a template and one value for each of its tunables.
type Configuration struct {
	Template string
	Names    []string // of the tunables, as declared; shared, do not modify
	Values   []expr.Value
}

// Get returns the value of the tunable name.
func (c Configuration) Get(name string) (expr.Value, bool) {
	if i := slices.Index(c.Names, name); i >= 0 {
		return c.Values[i], true
	}
	return expr.Value{}, false
}

// Map returns the values by name, as Go values, for JSON.
func (c Configuration) Map() map[string]any {
	m := make(map[string]any, len(c.Names))
	for i, name := range c.Names {
		m[name] = c.Values[i].Go()
	}
	return m
}

// Key returns a string that identifies the configuration: "template|a=1|b=2".
func (c Configuration) Key() string { return c.join("|") }

// String shows the configuration to a reader: "template a=1 b=2".
func (c Configuration) String() string { return c.join(" ") }

func (c Configuration) join(separator string) string {
	var b strings.Builder
	b.WriteString(c.Template)
	for i, name := range c.Names {
		if b.Len() > 0 {
			b.WriteString(separator)
		}
		b.WriteString(name)
		b.WriteByte('=')
		b.WriteString(c.Values[i].String())
	}
	return b.String()
}
