// Package draft writes the op.yaml of an operator that does not exist yet, from what
// is known of a kernel: by a document of another tool, or by the kernel's own file.
package draft

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/space"
	"autotune/space/expr"
)

// Operator is what is known of an operator of one template. Texts are expressions
// unless they are said to be something else.
type Operator struct {
	Head       []string // lines of comment at the top
	Name       string
	Summary    string
	SameMacros bool
	Shape      []Dimension
	Parameters []string // their lines
	Requires   []Requirement
	Arguments  []Argument
	Inputs     []string // distributions
	Bytes      string
	Flops      string // "": nothing is known
	Template   Template
	Notes      map[string][]string // comment lines before a key
	Unguarded  bool                // the kernel compares an index with no size that is known
}

// Dimension is one of the shape's.
type Dimension struct {
	Name    string
	Example int64
}

// Requirement is what a problem must meet, and why.
type Requirement struct{ That, Because string }

// Argument is a tensor, or a scalar where it has a value.
type Argument struct {
	Name, Role, Type string
	Size             string // of a tensor, which has one dimension here
	Fill, Symbol     string
	Value            string
	Comment          string
}

// Template is the operator's only template.
type Template struct {
	Name, Summary, Source, Entry string
	Flags                        []string // texts
	Tunables                     []space.Tunable
	Derived                      []Definition
	Constraints                  []string
	Block, Grid                  [3]string
	Shared                       string // "": none
	Default                      space.Values
}

// Definition is a name for an expression.
type Definition struct{ Name, Text string }

// writer collects the lines of an op.yaml.
type writer struct {
	strings.Builder
	notes map[string][]string
}

func (w *writer) line(indent int, format string, args ...any) {
	fmt.Fprintf(w, "%s%s\n", strings.Repeat("  ", indent), strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// note writes the comment that belongs before a key.
func (w *writer) note(indent int, key string) {
	for _, text := range w.notes[key] {
		w.line(indent, "# %s", text)
	}
}

// YAML is the operator's op.yaml.
func (o Operator) YAML() string {
	w := &writer{notes: o.Notes}
	for _, text := range o.Head {
		w.line(0, "# %s", text)
	}
	w.line(0, "operator: %s", o.Name)
	w.line(0, "summary: %s", scalar(o.Summary))
	if o.SameMacros {
		w.line(0, "macros: same")
	}
	names, example := make([]string, len(o.Shape)), make([]string, len(o.Shape))
	for i, d := range o.Shape {
		names[i], example[i] = d.Name, fmt.Sprint(d.Example)
	}
	w.note(0, "shape")
	w.line(0, "shape: [%s]", strings.Join(names, ", "))
	w.line(0, "example: %q", strings.Join(example, "x"))
	if len(o.Parameters) > 0 {
		w.line(0, "parameters:")
	}
	for _, text := range o.Parameters {
		w.line(1, "%s", text)
	}
	w.note(0, "requires")
	if len(o.Requires) > 0 {
		w.line(0, "requires:")
	}
	for _, r := range o.Requires {
		w.line(1, "- {that: %s, because: %s}", scalar(r.That), scalar(r.Because))
	}
	w.note(0, "tensors")
	w.line(0, "tensors:")
	for _, a := range o.Arguments {
		w.line(1, "- %s", a.yaml())
	}
	if len(o.Inputs) > 0 {
		w.line(0, "inputs: [%s]", strings.Join(o.Inputs, ", "))
	}
	w.note(0, "cost")
	cost := "bytes: " + scalar(o.Bytes)
	if o.Flops != "" {
		cost += ", flops: " + scalar(o.Flops)
	}
	w.line(0, "cost: {%s}", cost)
	w.note(0, "reference")
	w.line(0, "reference: {template: %s}", o.Template.Name)
	w.line(0, "templates:")
	o.Template.write(w)
	return w.String()
}

func (a Argument) yaml() string {
	parts := []string{"name: " + a.Name}
	add := func(key, value string) {
		if value != "" {
			parts = append(parts, key+": "+value)
		}
	}
	add("role", a.Role)
	add("type", a.Type)
	if a.Value != "" {
		add("value", scalar(a.Value))
	} else {
		add("shape", list([]string{a.Size}))
	}
	if a.Fill != "" {
		add("fill", scalar(a.Fill))
	}
	add("symbol", a.Symbol)
	text := "{" + strings.Join(parts, ", ") + "}"
	if a.Comment != "" {
		text += "  # " + a.Comment
	}
	return text
}

func (t Template) write(w *writer) {
	w.line(1, "- name: %s", t.Name)
	if t.Summary != "" {
		w.line(2, "summary: %s", scalar(t.Summary))
	}
	if t.Source != "" {
		w.line(2, "source: %s", t.Source)
	}
	w.line(2, "entry: %s", scalar(t.Entry))
	if len(t.Flags) > 0 {
		w.line(2, "flags: %s", list(t.Flags))
	}
	w.note(2, "tunables")
	if len(t.Tunables) > 0 {
		w.line(2, "tunables:")
	}
	for _, tunable := range t.Tunables {
		values := lists.Of(tunable.Values, value)
		w.line(3, "%s: [%s]", tunable.Name, strings.Join(values, ", "))
	}
	if len(t.Derived) > 0 {
		w.line(2, "derived:")
	}
	for _, d := range t.Derived {
		w.line(3, "%s: %s", d.Name, scalar(d.Text))
	}
	if len(t.Constraints) > 0 {
		w.line(2, "constraints:")
	}
	for _, c := range t.Constraints {
		w.line(3, "- %s", scalar(c))
	}
	w.note(2, "launch")
	w.line(2, "launch:")
	w.line(3, "block: %s", list(t.Block[:]))
	w.line(3, "grid: %s", list(t.Grid[:]))
	if t.Shared != "" {
		w.line(3, "shared: %s", scalar(t.Shared))
	}
	if len(t.Default) == 0 {
		return
	}
	words := lists.Of(t.Default, func(v space.Value) string { return v.Name + ": " + value(v.Value) })
	w.note(2, "default")
	w.line(2, "default: {%s}", strings.Join(words, ", "))
}

// value writes a tunable's value as YAML and Python have it.
func value(v expr.Value) string {
	if v.Kind() == expr.KindString {
		return scalar(v.String())
	}
	return v.String()
}

func list(texts []string) string {
	words := lists.Of(texts, scalar)
	return "[" + strings.Join(words, ", ") + "]"
}

// plainForm is text that YAML reads as it stands, also in a list.
var plainForm = regexp.MustCompile(`^[A-Za-z0-9_(][A-Za-z0-9_ .+*/()<=>-]*$`)

// words are texts that YAML reads as something else.
var words = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"}

// scalar writes a text as YAML, in quotes where it needs them.
func scalar(text string) string {
	if plainForm.MatchString(text) && !strings.HasSuffix(text, " ") && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return fmt.Sprintf("%q", text) // no text fails to be encoded
	}
	return strings.TrimSpace(b.String())
}
