package operator

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/operator/tree"
)

// Asked is one problem as a list of problems writes it, with the name or folder of an operator that is not yet loaded.
type Asked struct {
	At        tree.Position
	Operator  string
	Request   Request
	Ranges    string             // the shape as written, if dimensions have ranges; Request then has no shape
	Baselines map[string]float64 // times of other implementations, in milliseconds
	Calls     int64              // how often a program runs the problem; 0: unknown
	Share     float64            // of the program's time, from 0 to 1; 0: unknown
}

// maxProblems is the most problems that a list may contain.
const maxProblems = 1000

const problemForm = "want a list of {operator, shape, parameters, math, free, baselines, calls, share}"

// ReadProblems reads a list of problems in YAML or JSON. The error of ReadProblems is a *tree.Error. Problems with the
// largest share come first, and problems with equal shares keep their order.
func ReadProblems(file, text string) ([]Asked, error) {
	faults := &tree.Faults{}
	root := tree.File{
		Name: file, What: "a list of problems", Empty: problemForm, Second: "give all problems in one list", Faults: faults,
	}.Parse(text)
	if root.Kind != tree.List {
		root.Refuse("%s; this is %s", problemForm, root.Kind)
	}
	switch n := len(root.Items); {
	case n == 0:
		root.RefuseHint(problemForm, "the file holds no problem")
	case n > maxProblems:
		root.RefuseHint("search some after the others", "the file holds %d problems; %d are the most", n, maxProblems)
	}
	problems := lists.Of(root.Items, problem)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(problems, func(a, b Asked) int { return cmp.Compare(b.Share, a.Share) })
	return problems, nil
}

func problem(n *tree.Node) Asked {
	f := fields(n, "a problem")
	a := Asked{At: n.Where(), Operator: f["operator"].Text(), Baselines: map[string]float64{}}
	a.Request = Request{Parameters: map[string]string{}, Math: tree.Optional(f["math"], (*tree.Node).Text, "")}
	a.Request.Free = names(f["free"])
	var err error
	if shape := setting(f["shape"]); strings.ContainsAny(shape, "{}") {
		a.Ranges = shape
	} else if a.Request.Shape, err = ParseShape(shape); err != nil {
		f["shape"].Refuse("%v", err)
	}
	for _, e := range f["parameters"].Mapped("parameters must be a mapping of names to values") {
		a.Request.Parameters[e.Key] = setting(e.Value)
	}
	for _, e := range f["baselines"].Mapped("baselines must be a mapping of names to milliseconds") {
		a.Baselines[e.Key] = number(e.Value, "a time in milliseconds, as 7.1", math.MaxFloat64)
	}
	if f["calls"] != nil {
		const most = 1 << 53 // floats represent all integers up to this one exactly
		calls := number(f["calls"], "how often the problem is computed, as 640", most)
		if a.Calls = int64(calls); float64(a.Calls) != calls {
			f["calls"].Refuse("a problem is computed a whole number of times, as 640; it is `%s`", f["calls"].Written)
		}
	}
	if f["share"] != nil {
		a.Share = number(f["share"], "a part of the time, from 0 to 1", 1)
	}
	return a
}

func number(n *tree.Node, what string, most float64) float64 {
	written := n.MustBe(what).Written
	v, err := strconv.ParseFloat(written, 64)
	if err != nil || !(v >= 0 && v <= most) {
		n.Refuse("this must be %s; it is `%s`", what, written)
	}
	return v
}

func names(n *tree.Node) []string {
	return lists.Of(n.List("free"), (*tree.Node).Name)
}

// setting reads a value in the form of command-line flags: a number, true, false, or several numbers as 3x5 or [3, 5].
func setting(n *tree.Node) string {
	parts := lists.Of(n.Items, setting)
	if n.Kind == tree.List {
		return strings.Join(parts, "x")
	}
	n.MustBe("a value as the flags take it, as 3, 3x5 or true")
	if n.Kind == tree.Truth {
		return strings.ToLower(n.Written)
	}
	return n.Value
}
