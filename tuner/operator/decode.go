package operator

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/space"
	"autotune/space/expr"
)

// decoder turns the nodes of one op.yaml into an Operator. It checks form: keys,
// types and that expressions parse. What names mean is checked afterwards.
type decoder struct {
	file string
}

func (d decoder) fault(n *node, format string, args ...any) error {
	return &Error{File: d.file, Line: n.line, Column: n.column, Message: fmt.Sprintf(format, args...)}
}

// fields calls the function of each key of a mapping, in the file's order, and
// sees that all required keys are there.
func (d decoder) fields(n *node, what string, required []string, known map[string]func(*node) error) error {
	if n.kind != mappingNode {
		return d.fault(n, "%s must be a mapping with the keys %s; this is %s", what, strings.Join(slices.Sorted(maps.Keys(known)), ", "), n.kind)
	}
	for _, e := range n.entries {
		read, ok := known[e.key]
		if !ok {
			names := slices.Sorted(maps.Keys(known))
			return &Error{File: d.file, Line: e.line, Column: e.column,
				Message: fmt.Sprintf("unknown key `%s`", e.key), Hint: nearestOrAll(e.key, what+" has the keys", names)}
		}
		if e.value.kind == nullNode {
			return &Error{File: d.file, Line: e.line, Column: e.column, Message: fmt.Sprintf("`%s` has no value", e.key)}
		}
		if err := read(e.value); err != nil {
			return err
		}
	}
	for _, key := range required {
		if n.get(key) == nil {
			return d.fault(n, "%s lacks the key `%s`", what, key)
		}
	}
	return nil
}

func (d decoder) operator(root *node) (*Operator, error) {
	o := &Operator{
		File: d.file, MathModes: []string{"fp32"}, MathAuto: d.constant("'fp32'"),
		ATol: d.constant("1e-4"), RTol: d.constant("1e-4"), Flops: d.constant("0"),
		Inputs: Distributions(),
	}
	err := d.fields(root, "an operator",
		[]string{"operator", "summary", "shape", "tensors", "cost", "reference", "templates"},
		map[string]func(*node) error{
			"operator":   d.into(&o.Name, d.identifier),
			"summary":    d.into(&o.Summary, d.text),
			"shape":      func(n *node) (err error) { o.Shape, err = d.names(n, "shape"); return err },
			"example":    func(n *node) (err error) { o.Example, err = d.example(n); return err },
			"parameters": func(n *node) (err error) { o.Parameters, err = d.parameters(n); return err },
			"preset":     func(n *node) (err error) { o.Preset, err = d.preset(n); return err },
			"derived":    func(n *node) (err error) { o.Derived, err = d.definitions(n, "derived"); return err },
			"requires":   func(n *node) (err error) { o.Requires, err = d.requirements(n); return err },
			"tensors":    func(n *node) (err error) { o.Tensors, err = d.tensors(n); return err },
			"inputs":     func(n *node) (err error) { o.Inputs, err = d.inputs(n); return err },
			"cost": func(n *node) error {
				return d.fields(n, "cost", []string{"bytes"}, map[string]func(*node) error{
					"bytes": d.formulaInto(&o.Bytes), "flops": d.formulaInto(&o.Flops)})
			},
			"math": func(n *node) error { return d.math(n, o) },
			"tolerance": func(n *node) error {
				return d.fields(n, "tolerance", nil, map[string]func(*node) error{
					"atol": d.formulaInto(&o.ATol), "rtol": d.formulaInto(&o.RTol)})
			},
			"reference": d.into(&o.Reference.File, d.fileName),
			"pytorch":   func(n *node) (err error) { o.PyTorch, err = d.pytorch(n); return err },
			"templates": func(n *node) (err error) { o.Templates, err = d.templates(n); return err },
		})
	return o, err
}

// Scalars.

var identifierForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

func (d decoder) text(n *node) (string, error) {
	if !n.isScalar() {
		return "", d.fault(n, "this must be text; it is %s", n.kind)
	}
	return n.raw, nil
}

func (d decoder) identifier(n *node) (string, error) {
	if !n.isScalar() {
		return "", d.fault(n, "this must be a name; it is %s", n.kind)
	}
	if !identifierForm.MatchString(n.raw) {
		return "", d.fault(n, "`%s` is not a name: letters, digits and _, not starting with a digit", n.raw)
	}
	return n.raw, nil
}

var fileForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

func (d decoder) fileName(n *node) (string, error) {
	if !n.isScalar() || !fileForm.MatchString(n.raw) {
		return "", d.fault(n, "this must name a file in the operator's folder, as direct.cu")
	}
	return n.raw, nil
}

func (d decoder) boolean(n *node) (bool, error) {
	if n.kind != boolNode {
		return false, d.fault(n, "this must be true or false; it is %s", n.kind)
	}
	return n.text == "True", nil
}

func (d decoder) integer(n *node) (int64, error) {
	if n.kind == intNode {
		if v, err := strconv.ParseInt(n.text, 10, 64); err == nil {
			return v, nil
		}
	}
	return 0, d.fault(n, "this must be an integer; it is %s `%s`", n.kind, n.raw)
}

func (d decoder) constant(text string) Formula {
	code, err := expr.Parse(text)
	if err != nil {
		panic("templates: a built-in constant does not parse: " + text)
	}
	return Formula{Text: text, code: code}
}

func (d decoder) formula(n *node) (Formula, error) {
	if !n.isScalar() {
		return Formula{}, d.fault(n, "this must be an expression; it is %s", n.kind)
	}
	if strings.ContainsAny(n.text, "\n") {
		n.text = strings.ReplaceAll(n.text, "\n", " ")
	}
	return d.parse(n.text, n.line, n.column)
}

// parse reads an expression that starts at a place of the file.
func (d decoder) parse(text string, line, column int) (Formula, error) {
	code, err := expr.Parse(text)
	if err != nil {
		return Formula{}, d.syntax(text, line, column, err)
	}
	return Formula{Text: text, Line: line, Column: column, code: code}, nil
}

// into makes a field reader of a value reader.
func (d decoder) into(to *string, read func(*node) (string, error)) func(*node) error {
	return func(n *node) (err error) { *to, err = read(n); return err }
}

func (d decoder) formulaInto(to *Formula) func(*node) error {
	return func(n *node) (err error) { *to, err = d.formula(n); return err }
}

// Lists.

func (d decoder) list(n *node, what string) ([]*node, error) {
	if n.kind != listNode {
		return nil, d.fault(n, "%s must be a list; this is %s", what, n.kind)
	}
	return n.items, nil
}

func (d decoder) names(n *node, what string) ([]string, error) {
	items, err := d.list(n, what)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, d.fault(n, "%s names nothing", what)
	}
	var names []string
	for _, item := range items {
		name, err := d.identifier(item)
		if err != nil {
			return nil, err
		}
		if slices.Contains(names, name) {
			return nil, d.fault(item, "`%s` is given twice", name)
		}
		names = append(names, name)
	}
	return names, nil
}

func (d decoder) example(n *node) ([]int64, error) {
	if n.kind == listNode {
		var shape []int64
		for _, item := range n.items {
			v, err := d.integer(item)
			if err != nil {
				return nil, err
			}
			shape = append(shape, v)
		}
		return shape, nil
	}
	shape, err := ParseShape(n.raw)
	if err != nil {
		return nil, d.fault(n, "%v", err)
	}
	return shape, nil
}

func (d decoder) formulas(n *node, what string) ([]Formula, error) {
	items, err := d.list(n, what)
	if err != nil {
		return nil, err
	}
	formulas := make([]Formula, len(items))
	for i, item := range items {
		if formulas[i], err = d.formula(item); err != nil {
			return nil, err
		}
	}
	return formulas, nil
}

// axes reads a launch's three extents.
func (d decoder) axes(to *[3]Formula, what string) func(*node) error {
	return func(n *node) error {
		formulas, err := d.formulas(n, what)
		if err != nil {
			return err
		}
		if len(formulas) != 3 {
			return d.fault(n, "%s has %d entries; it needs three: x, y, z", what, len(formulas))
		}
		copy(to[:], formulas)
		return nil
	}
}

// distributions are the input distributions that devices can fill a tensor with.
var distributions = []string{"uniform01", "normal", "negative", "special"}

// Distributions lists the input distributions that there are.
func Distributions() []string { return slices.Clone(distributions) }

func (d decoder) inputs(n *node) ([]string, error) {
	names, err := d.names(n, "inputs")
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if !slices.Contains(distributions, name) {
			return nil, d.unknown(n.items[i], "distribution", name, distributions)
		}
	}
	return names, nil
}

func (d decoder) unknown(n *node, what, name string, names []string) error {
	return &Error{File: d.file, Line: n.line, Column: n.column,
		Message: fmt.Sprintf("unknown %s `%s`", what, name), Hint: nearestOrAll(name, "there are", names)}
}

func (d decoder) math(n *node, o *Operator) error {
	err := d.fields(n, "math", []string{"modes"}, map[string]func(*node) error{
		"modes": func(n *node) (err error) { o.MathModes, err = d.names(n, "modes"); return err },
		"auto":  d.formulaInto(&o.MathAuto),
	})
	if err == nil && n.get("auto") == nil && !slices.Contains(o.MathModes, "fp32") {
		return d.fault(n, "math needs `auto`: an expression that gives one of %s", strings.Join(o.MathModes, ", "))
	}
	return err
}

// definitions reads "name: expression" pairs.
func (d decoder) definitions(n *node, what string) ([]Definition, error) {
	if n.kind != mappingNode {
		return nil, d.fault(n, "%s must be a mapping of names to expressions; this is %s", what, n.kind)
	}
	var definitions []Definition
	for _, e := range n.entries {
		if err := d.keyName(e); err != nil {
			return nil, err
		}
		f, err := d.formula(e.value)
		if err != nil {
			return nil, err
		}
		definitions = append(definitions, Definition{e.key, f})
	}
	return definitions, nil
}

func (d decoder) keyName(e entry) error {
	if !identifierForm.MatchString(e.key) {
		return &Error{File: d.file, Line: e.line, Column: e.column, Message: fmt.Sprintf("`%s` is not a name: letters, digits and _, not starting with a digit", e.key)}
	}
	return nil
}

// values reads a tunable's values.
func (d decoder) tunable(e entry) (space.Tunable, error) {
	t := space.Tunable{Name: e.key}
	if err := d.keyName(e); err != nil {
		return t, err
	}
	items, err := d.list(e.value, "a tunable's values")
	if err != nil {
		return t, err
	}
	if len(items) == 0 {
		return t, d.fault(e.value, "`%s` has no values", e.key)
	}
	for _, item := range items {
		v, err := d.value(item)
		if err != nil {
			return t, err
		}
		if slices.Contains(t.Values, v) {
			return t, d.fault(item, "`%s` has the value %v twice", e.key, v)
		}
		if len(t.Values) > 0 && v.Kind() != t.Values[0].Kind() {
			return t, d.fault(item, "`%s` mixes types: %s is not of the type of %v", e.key, item.raw, t.Values[0])
		}
		t.Values = append(t.Values, v)
	}
	return t, nil
}

func (d decoder) value(n *node) (expr.Value, error) {
	switch n.kind {
	case boolNode:
		return expr.Bool(n.text == "True"), nil
	case intNode:
		v, err := d.integer(n)
		return expr.Int(v), err
	case floatNode:
		v, err := strconv.ParseFloat(n.text, 64)
		if err != nil {
			return expr.Value{}, d.fault(n, "`%s` is not a number", n.raw)
		}
		return expr.Float(v), nil
	case stringNode:
		if !identifierForm.MatchString(n.text) {
			return expr.Value{}, d.fault(n, "`%s` cannot be a macro's value: integers, numbers, booleans and names can", n.text)
		}
		return expr.String(n.text), nil
	}
	return expr.Value{}, d.fault(n, "this must be a value; it is %s", n.kind)
}
