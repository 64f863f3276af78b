package operator

import (
	"strconv"
	"strings"

	"autotune/tuner/operator/tree"
)

// Asked is one problem of a list of problems, as written: its operator is a name
// or a folder that nobody has looked for yet.
type Asked struct {
	At        tree.Position
	Operator  string
	Request   Request
	Baselines map[string]float64 // times of other implementations, in milliseconds
}

// maxProblems is more than one search can want.
const maxProblems = 1000

const problemForm = "want a list of {operator, shape, parameters, math, free, baselines}"

// ReadProblems reads the text of a problems file: a list in YAML or JSON. Its
// error is a *tree.Error.
func ReadProblems(file, text string) (problems []Asked, err error) {
	defer tree.Catch[*tree.Error](&err)
	root := tree.File{Name: file, What: "a list of problems", Empty: problemForm, Second: "give all problems in one list"}.Parse(text)
	if root.Kind != tree.List {
		root.Refuse("%s; this is %s", problemForm, root.Kind)
	}
	switch n := len(root.Items); {
	case n == 0:
		root.RefuseHint(problemForm, "the file holds no problem")
	case n > maxProblems:
		root.RefuseHint("search some after the others", "the file holds %d problems; %d are the most", n, maxProblems)
	}
	for _, item := range root.Items {
		problems = append(problems, problem(item))
	}
	return problems, nil
}

func problem(n *tree.Node) Asked {
	f := fields(n, "a problem")
	a := Asked{At: n.Where(), Operator: f["operator"].Text(), Baselines: map[string]float64{}}
	a.Request = Request{Parameters: map[string]string{}, Math: tree.Optional(f["math"], (*tree.Node).Text, "")}
	a.Request.Free = names(f["free"])
	var err error
	if a.Request.Shape, err = ParseShape(setting(f["shape"])); err != nil {
		f["shape"].Refuse("%v", err)
	}
	for _, e := range f["parameters"].Mapped("parameters must be a mapping of names to values") {
		a.Request.Parameters[e.Key] = setting(e.Value)
	}
	for _, e := range f["baselines"].Mapped("baselines must be a mapping of names to milliseconds") {
		written := e.Value.MustBe("a time in milliseconds").Written
		if a.Baselines[e.Key], err = strconv.ParseFloat(written, 64); err != nil {
			e.Value.Refuse("this must be a time in milliseconds, as 7.1; it is `%s`", written)
		}
	}
	return a
}

// names reads a list of names that may be absent.
func names(n *tree.Node) []string {
	var all []string
	for _, item := range n.List("free") {
		all = append(all, item.Name())
	}
	return all
}

// setting reads a value as the flags take it: a number, true or false, or several
// numbers, as 3x5 or [3, 5].
func setting(n *tree.Node) string {
	var parts []string
	for _, item := range n.Items {
		parts = append(parts, setting(item))
	}
	if n.Kind == tree.List {
		return strings.Join(parts, "x")
	}
	n.MustBe("a value as the flags take it, as 3, 3x5 or true")
	if n.Kind == tree.Truth {
		return strings.ToLower(n.Written)
	}
	return n.Value
}
