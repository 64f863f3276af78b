// Package draft writes the op.yaml of an operator that does not exist yet, from its kernel's own file.
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

// Operator is what is known of an operator of one kernel. Texts are expressions unless they are said to be something
// else.
type Operator struct {
	Name, Kernel string
	Source       string // file
	Entry        string // as op.yaml names the kernel
	Shape        []string
	Example      int64    // along each dimension
	Parameters   []string // their lines
	Arguments    []Argument
	Bytes        string
	Tunables     []space.Tunable // the default has the first value of each
	Block, Grid  [3]string
	Guessed      bool // the kernel's file has no value for some of the tunables
	Unguarded    bool // the kernel compares an index with no size that is known
}

// Argument is a tensor, or a scalar where it has a value.
type Argument struct {
	Name, Role, Type string
	Size             string // of a tensor, which has one dimension here
	Value            string
	Comment          string
}

// operatorText is an op.yaml, in the language of text/template.
//
//go:embed op.yaml.tmpl
var operatorText string

var operatorPage = template.Must(template.New("op.yaml").
	Funcs(template.FuncMap{"scalar": scalar, "value": value}).Parse(operatorText))

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

// taken are texts that YAML reads as something else.
var taken = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"}

// scalar writes a text as YAML, in quotes where it needs them.
func scalar(text string) string {
	if plainForm.MatchString(text) && !strings.HasSuffix(text, " ") && !slices.Contains(taken, strings.ToLower(text)) {
		return text
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // no text fails to be encoded
	return strings.TrimSpace(b.String())
}
