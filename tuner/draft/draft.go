// Package draft writes an op.yaml for a new operator from the file of its kernel.
package draft

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"autotune/space"
	"autotune/space/expr"
)

// Operator holds the fields of a drafted op.yaml for an operator with one kernel. A field of type string holds an
// expression of op.yaml unless its comment says otherwise.
type Operator struct {
	Name, Kernel string
	Source       string // name of the kernel's file
	Entry        string // the kernel's name in op.yaml, with template arguments
	Shape        []string
	Example      int64    // size of each dimension in the example
	Parameters   []string // lines of op.yaml
	Arguments    []Argument
	Bytes        string
	Tunables     []space.Tunable // the first value of each is its default
	Block, Grid  [3]string
	Guessed      bool // the file has no value for some of the tunables
	Unguarded    bool // the kernel compares an index of blocks with no known size
}

// Argument is a tensor or a scalar; only a scalar has a Value.
type Argument struct {
	Name, Role, Type string
	Size             string // the number of elements of a one-dimensional tensor
	Value            string
	Comment          string
}

// operatorText is a text/template of an op.yaml.
//
//go:embed op.yaml.tmpl
var operatorText string

var operatorPage = template.Must(template.New("op.yaml").
	Funcs(template.FuncMap{"scalar": scalar, "value": value}).Parse(operatorText))

// YAML returns the text of the operator's op.yaml.
func (o Operator) YAML() string {
	var b strings.Builder
	if err := operatorPage.Execute(&b, o); err != nil {
		panic(err) // the template uses only names that exist
	}
	return b.String()
}

// value returns the text of a tunable's value in a form that both YAML and Python read.
func value(v expr.Value) string {
	if v.Kind() == expr.KindString {
		return scalar(v.String())
	}
	return v.String()
}

// plainForm matches text that YAML reads unchanged without quotes, even in a list.
var plainForm = regexp.MustCompile(`^[A-Za-z0-9_(][A-Za-z0-9_ .+*/()<=>-]*$`)

// taken lists words that YAML does not read as strings unless they are quoted.
var taken = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"}

// scalar writes a text as a YAML string, with quotes if it needs them.
func scalar(text string) string {
	if plainForm.MatchString(text) && !strings.HasSuffix(text, " ") && !slices.Contains(taken, strings.ToLower(text)) {
		return text
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // encoding a string cannot fail
	return strings.TrimSpace(b.String())
}
