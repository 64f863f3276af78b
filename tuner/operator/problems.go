package operator

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Asked is one problem of a list of problems, as written: its operator is a name
// or a folder that nobody has looked for yet.
type Asked struct {
	Operator  string
	Request   Request
	Baselines map[string]float64 // times of other implementations, in milliseconds
}

// maxProblems is more than one search can want.
const maxProblems = 1000

const problemForm = "want a list of {operator, shape, parameters, math, baselines}"

// ReadProblems reads the text of a problems file: a list in YAML or JSON. Its
// error is an *Error.
func ReadProblems(file, text string) (problems []Asked, err error) {
	defer catch[*Error](&err)
	d := &document{file: file, what: "a list of problems", empty: problemForm, second: "give all problems in one list"}
	root := d.parse(text)
	if _, ok := root.(*ast.SequenceNode); !ok {
		d.refuse(root, "%s; this is %s", problemForm, kind(root))
	}
	switch n := len(d.items(root, "problems")); {
	case n == 0:
		d.failHint(at(root), problemForm, "the file holds no problem")
	case n > maxProblems:
		d.failHint(at(root), "search some after the others", "the file holds %d problems; %d are the most", n, maxProblems)
	}
	return list(d, root, "problems", d.problem), nil
}

func (l *document) problem(n ast.Node) Asked {
	f := l.fields(n, "a problem")
	a := Asked{Operator: l.text(f["operator"]), Baselines: map[string]float64{}}
	a.Request = Request{Shape: l.shape(f["shape"]), Parameters: map[string]string{}, Math: optional(f["math"], l.text, "")}
	for _, e := range l.optionalEntries(f["parameters"], "parameters must be a mapping of names to values") {
		a.Request.Parameters[e.key] = l.setting(e.value)
	}
	for _, e := range l.optionalEntries(f["baselines"], "baselines must be a mapping of names to milliseconds") {
		written, _ := l.scalar(e.value, "a time in milliseconds")
		ms, err := strconv.ParseFloat(written, 64)
		if err != nil {
			l.refuse(e.value, "this must be a time in milliseconds, as 7.1; it is `%s`", written)
		}
		a.Baselines[e.key] = ms
	}
	return a
}

func (l *document) optionalEntries(n ast.Node, want string) []entry {
	if n == nil {
		return nil
	}
	return l.entries(n, want)
}

// shape reads a shape: 16x64x512x512, or a list of its dimensions.
func (l *document) shape(n ast.Node) []int64 {
	shape, err := ParseShape(l.setting(n))
	if err != nil {
		l.fail(at(n), "%v", err)
	}
	return shape
}

// setting reads a value as the flags take it: a number, true or false, or several
// numbers, as 3x5 or [3, 5].
func (l *document) setting(n ast.Node) string {
	if sequence, ok := n.(*ast.SequenceNode); ok {
		return strings.Join(list(l, sequence, "", l.setting), "x")
	}
	written, python := l.scalar(n, "a value as the flags take it, as 3, 3x5 or true")
	if _, ok := n.(*ast.BoolNode); ok {
		return strings.ToLower(written)
	}
	return python
}
