// Package draft writes the op.yaml of an operator that does not exist yet, from its kernel's own file.
package draft

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"autotune/space"
	"autotune/space/expr"
)

// Operator is what is known of an operator of one template. Texts are expressions
// unless they are said to be something else.
type Operator struct {
	Head       []string // lines of comment at the top
	Name       string
	Summary    string
	Shape      []Dimension
	Parameters []string // their lines
	Requires   []Requirement
	Arguments  []Argument
	Bytes      string
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
	Value            string
	Comment          string
}

// Template is the operator's only template.
type Template struct {
	Name, Source, Entry string
	Tunables            []space.Tunable
	Block, Grid         [3]string
	Default             space.Values
}

// operatorText is an op.yaml, in the language of text/template.
//
//go:embed op.yaml.tmpl
var operatorText string

var operatorPage = template.Must(template.New("op.yaml").Funcs(template.FuncMap{"scalar": scalar, "value": value}).Parse(operatorText))

// YAML is the operator's op.yaml.
func (o Operator) YAML() string {
	var b strings.Builder
	if err := operatorPage.Execute(&b, o); err != nil {
		panic(err) // all that it names is there
	}
	return b.String()
}

// value writes a tunable's value as YAML and Python have it.
func value(v expr.Value) string {
	if v.Kind() == expr.KindString {
		return scalar(v.String())
	}
	return v.String()
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
