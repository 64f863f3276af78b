package operator

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space/expr"
)

// Request is what a user asks of an operator.
type Request struct {
	Shape      []int64
	Parameters map[string]string // as given to --set; empty: the operator's preset
	Math       string            // "", "auto" or a math mode
	MathBy     string            // who chose it, if not the user
	Only       Restriction       // the part of the space that a search of the problem is to try
	Free       []string          // dimensions that kernels take when they run
}

// RequestError is a fault in what a user asked of an operator: its name, shape,
// parameters or math mode.
type RequestError struct {
	Operator string // "" when no operator is named so
	Message  string
	Hint     string
}

func (e *RequestError) Error() string { return tree.Sentence(e.Operator, e.Message, e.Hint) }

// ParseShape reads a shape as 16x16x1024x1024.
func ParseShape(s string) ([]int64, error) {
	var shape []int64
	for _, part := range strings.Split(s, "x") {
		v, err := strconv.ParseInt(part, 10, 64)
		hint := ""
		switch {
		case errors.Is(err, strconv.ErrRange):
			hint = "the dimension " + part + " does not fit 64 bits"
		case err != nil || part[0] == '+':
			hint = "a shape is integers with x between them, as 16x64x512x512"
		case v < 1:
			hint = fmt.Sprintf("each dimension must be at least 1; got %d", v)
		}
		if hint != "" {
			return nil, &RequestError{Message: fmt.Sprintf("`%s` is not a shape", s), Hint: hint}
		}
		shape = append(shape, v)
	}
	return shape, nil
}

// FormatShape writes a shape as ParseShape reads it.
func FormatShape(shape []int64) string {
	parts := lists.Of(shape, func(v int64) string { return strconv.FormatInt(v, 10) })
	return strings.Join(parts, "x")
}

// Bind turns a request into a problem. What the request got wrong is a *RequestError.
func (o *Operator) Bind(r Request, limits Limits) (*Problem, error) {
	p := &Problem{Operator: o, Shape: slices.Clone(r.Shape), Values: map[string]expr.Value{}, Limits: limits, MathBy: r.MathBy}
	b := binder{p, p.Values}
	for _, step := range []func(Request) error{b.shape, b.free, b.parameters, b.math, b.derived, b.arguments, b.bounds, b.part} {
		if err := step(r); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// binder fills in a problem for one request. Each of its steps needs those before it.
type binder struct {
	p      *Problem
	values map[string]expr.Value // what formulas know: the problem's values, so far, or a template's too
}

func (b binder) refusal(hint, format string, args ...any) error {
	return b.p.Operator.refusal(hint, format, args...)
}

func (o *Operator) refusal(hint, format string, args ...any) error {
	return &RequestError{Operator: o.Name, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func (b binder) shape(Request) error {
	names, shape := b.p.Operator.Shape, b.p.Shape
	if len(shape) != len(names) {
		example := b.p.Operator.Example
		if example == nil {
			example = slices.Repeat([]int64{16}, len(names))
		}
		return b.refusal("", "the shape has %s, as %s; got %d in %s", dims(names), FormatShape(example), len(shape), FormatShape(shape))
	}
	for i, v := range shape {
		if v < 1 {
			return b.refusal("", "each dimension must be at least 1; got %s=%d", names[i], v)
		}
		b.values[names[i]] = expr.Int(v)
	}
	return nil
}

func dims(names []string) string {
	if len(names) == 1 {
		return "1 dimension " + names[0]
	}
	return fmt.Sprintf("%d dimensions %s", len(names), strings.Join(names, ","))
}

// free settles which dimensions are free, in the shape's order.
func (b binder) free(r Request) error {
	shape := b.p.Operator.Shape
	for i, name := range r.Free {
		if !slices.Contains(shape, name) {
			hint := tree.NearestOrAll(name, "there are", shape)
			return b.refusal(hint, "no dimension is called `%s`, and only dimensions can be free", name)
		}
		if slices.Contains(r.Free[:i], name) {
			return b.refusal("", "the dimension `%s` is given as free twice", name)
		}
	}
	b.p.Free = lists.Where(shape, func(name string) bool { return slices.Contains(r.Free, name) })
	return nil
}

// parameters parses what is given and fills in defaults, each after those that
// it names.
func (b binder) parameters(r Request) error {
	o, given := b.p.Operator, r.Parameters
	for _, name := range sorted(given) {
		if o.parameter(name) == nil {
			return b.refusal(tree.NearestOrAll(name, "there are", o.parameterNames()), "unknown parameter `%s`", name)
		}
	}
	if len(given) == 0 {
		given = o.Preset
	}
	order, _ := expr.DependencyOrder(o.parameterNames(), o.parameterNeeds) // Load refuses cycles
	texts := map[string]string{}                                           // of those that the problem's text names
	for _, name := range order {
		spec := o.parameter(name)
		values, err := b.given(spec, given)
		if err == nil {
			err = spec.admits(values)
		}
		if err != nil {
			return b.refusal("", "%v", err)
		}
		for i, component := range spec.Names {
			b.values[component] = values[i]
		}
		if !spec.Later || !b.isDefault(spec, values) {
			texts[name] = spec.format(values)
		}
	}
	for _, name := range o.parameterNames() {
		if text, named := texts[name]; named {
			b.p.Parameters = append(b.p.Parameters, Parameter{name, text})
		}
	}
	return nil
}

func (b binder) isDefault(spec *ParameterSpec, values []expr.Value) bool {
	usual, err := b.given(spec, nil)
	return err == nil && slices.Equal(values, usual)
}

// given is a parameter's value of each component: as given, or else the default.
func (b binder) given(spec *ParameterSpec, given map[string]string) ([]expr.Value, error) {
	if text, ok := given[spec.Name]; ok {
		if slices.Contains(b.p.Operator.Orders(), spec.Name) {
			text = orderWord(text, len(b.p.Operator.Shape))
		}
		return spec.parse(text)
	}
	if spec.Default == nil {
		return nil, mustBeSet(b.p.Operator, spec)
	}
	if spec.Type == ExpressionParameter {
		return spec.parse(spec.Default.Text)
	}
	values := make([]expr.Value, len(spec.Names))
	for i := range values {
		v, err := spec.Default.code.Eval(b.componentValues(spec, i))
		if err != nil {
			return nil, fmt.Errorf("the default of `%s`, %s: %w", spec.Name, spec.Default.Text, err)
		}
		var ok bool
		if values[i], ok = spec.typed(v); !ok {
			return nil, fmt.Errorf("the default of `%s`, %s, is %v and not %s", spec.Name, spec.Default.Text, v, spec.form())
		}
	}
	return values, nil
}

// componentValues are the values that the default of one component may name:
// the same component of another pair goes by the pair's own name.
func (b binder) componentValues(spec *ParameterSpec, component int) map[string]expr.Value {
	env := maps.Clone(b.values)
	for _, other := range b.p.Operator.Parameters {
		if len(other.Names) != len(spec.Names) {
			continue
		}
		if v, ok := b.values[other.Names[component]]; ok {
			env[other.Name] = v
		}
	}
	return env
}

func mustBeSet(o *Operator, spec *ParameterSpec) error {
	example := "3"
	switch {
	case spec.Type == ExpressionParameter:
		example = spec.Of[0]
	case len(spec.Names) == 2:
		example = "3x3"
	}
	if o.Preset == nil {
		return fmt.Errorf("`%s` must be set, as %s=%s", spec.Name, spec.Name, example)
	}
	var preset []string
	for _, name := range o.parameterNames() {
		if v, ok := o.Preset[name]; ok {
			preset = append(preset, name+"="+v)
		}
	}
	return fmt.Errorf("`%s` must be set too, as %s=%s: the preset %s is used only when nothing is set",
		spec.Name, spec.Name, example, strings.Join(preset, " "))
}

// derived computes the operator's derived values, and checks what it requires.
func (b binder) derived(Request) (err error) {
	for _, d := range b.p.Operator.Derived {
		if b.values[d.Name], err = b.eval(d.Name, d.Formula); err != nil {
			return err
		}
	}
	for _, r := range b.p.Operator.Requires {
		holds, err := b.eval("requirement", r.That)
		if err != nil {
			return err
		}
		if !holds.Truth() {
			because, err := r.Because.fill(func(f Formula) (expr.Value, error) { return b.eval("explanation", f) })
			if err != nil {
				return err
			}
			return b.refusal("", "%s (%s is needed; here %s)", because, r.That.Text, valuesOf(r.That, b.values))
		}
	}
	return nil
}

func valuesOf(f Formula, env map[string]expr.Value) string {
	words := lists.Of(f.code.Names(), func(name string) string { return fmt.Sprintf("%s=%v", name, env[name]) })
	return strings.Join(words, " ")
}

func (b binder) arguments(Request) error {
	for _, spec := range b.p.Operator.Arguments {
		read := b.tensor
		switch {
		case spec.Owner != "":
			read = b.workspace
		case spec.Role == Scalar:
			read = b.scalar
		}
		a, err := read(spec)
		if err != nil {
			return err
		}
		b.p.Arguments = append(b.p.Arguments, a)
	}
	return nil
}

func (b binder) tensor(spec ArgumentSpec) (t Argument, err error) {
	t = Argument{
		Name: spec.Name, Role: spec.Role, Type: spec.typeIn(b.values), Order: spec.orderIn(b.values), Symbol: spec.Symbol, Owner: spec.Owner,
	}
	if err := b.extents(&t, spec.Shape); err != nil {
		return t, err
	}
	if spec.Role == Weight {
		t.Scale = 1
	}
	if spec.Scale != nil {
		what := fmt.Sprintf("the scale of `%s`", spec.Name)
		if _, t.Scale, err = b.number(what, *spec.Scale, "number", math.Inf(-1), math.Inf(1)); err != nil {
			return t, err
		}
	}
	if spec.Fill != nil {
		fill, err := spec.Fill.bind(b, spec.Name)
		if err == nil && fill.File != "" {
			err = b.holds(fill.File, t)
		}
		if err != nil {
			return t, err
		}
		t.Fill = &fill
	}
	if !spec.Role.Compared() {
		return t, nil
	}
	if a := b.p.Operator.Answers; a.Fixed() {
		if err := b.holds(a.Files[spec.Name], t); err != nil {
			return t, err
		}
	}
	if _, t.ATol, err = b.number("atol of `"+spec.Name+"`", spec.ATol, "tolerance", 0, math.MaxFloat64); err == nil {
		_, t.RTol, err = b.number("rtol of `"+spec.Name+"`", spec.RTol, "tolerance", 0, math.MaxFloat64)
	}
	return t, err
}

func (b binder) extents(t *Argument, shape []Formula) error {
	t.Elements = 1
	for i, f := range shape {
		v, err := b.eval(t.Name, f)
		if err != nil {
			return err
		}
		n, ok := v.AsInt()
		if !ok || n < 0 || n < 1 && t.Role.Compared() {
			return b.refusal("", "dimension %d of `%s`, %s, would be %v", i+1, t.Name, f.Text, v)
		}
		if n > 0 && t.Elements > (1<<58)/n {
			return b.refusal("", "`%s` would have more than 2^58 elements", t.Name)
		}
		t.Elements *= n
		t.Shape = append(t.Shape, n)
	}
	return nil
}

// workspace is a template's own workspace: only its launches are passed it, and only where their
// `arguments` name it. It is empty if neither the template nor one that shares it serves the problem.
func (b binder) workspace(spec ArgumentSpec) (Argument, error) {
	o := b.p.Operator
	served := slices.ContainsFunc(o.Templates, func(t *Template) bool {
		if !t.has(spec.Owner) {
			return false
		}
		serves, err := useOf(b.p, t).serves()
		return err == nil && serves
	})
	if !served {
		return Argument{Name: spec.Name, Role: Workspace, Type: spec.Type, Shape: []int64{0}, Owner: spec.Owner}, nil
	}
	t, _ := o.Template(spec.Owner)
	b.values = useOf(b.p, t).env
	for _, d := range t.Derived {
		if !slices.ContainsFunc(d.Formula.code.Names(), func(name string) bool { return b.values[name] == expr.Value{} }) {
			v, err := b.eval(d.Name, d.Formula)
			if err != nil {
				return Argument{}, err
			}
			b.values[d.Name] = v
		}
	}
	return b.tensor(spec)
}

func (b binder) scalar(spec ArgumentSpec) (Argument, error) {
	v, err := b.eval(spec.Name, *spec.Value)
	if err != nil {
		return Argument{}, err
	}
	if err := spec.Type.holds(v); err != nil {
		return Argument{}, b.refusal("", "the scalar `%s`, %s, is %v: %v", spec.Name, spec.Value.Text, v, err)
	}
	return Argument{Name: spec.Name, Role: Scalar, Type: spec.Type, Value: v}, nil
}

// bounds computes what the operator's own comparison may give, and the cost.
func (b binder) bounds(Request) (err error) {
	o := b.p.Operator
	if c := o.Compare; c != nil {
		if _, b.p.Bound, err = b.number("the bound of `compare`", c.Bound, "bound", 0, math.MaxFloat64); err != nil {
			return err
		}
	}
	if b.p.Bytes, err = b.count("cost.bytes", o.Bytes); err == nil {
		b.p.Flops, err = b.count("cost.flops", o.Flops)
	}
	return err
}

// part sees that the part of the space that the request wants can be understood.
func (b binder) part(r Request) error {
	if r.Only.IsZero() {
		return nil
	}
	_, err := b.p.Part(r.Only)
	return err
}

func (b binder) eval(what string, f Formula) (expr.Value, error) {
	v, err := f.code.Eval(b.values)
	if err != nil {
		return v, b.refusal("", "%s = %s cannot be computed for this problem: %v", what, f.Text, err)
	}
	return v, nil
}

func (b binder) count(what string, f Formula) (int64, error) {
	v, x, err := b.number(what, f, "count", 0, 1<<62)
	if n, ok := v.AsInt(); ok {
		return n, err // a float may have lost its last digits
	}
	return int64(x), err
}

// number evaluates a formula that must give a number within bounds.
func (b binder) number(what string, f Formula, kind string, least, most float64) (expr.Value, float64, error) {
	v, err := b.eval(what, f)
	if err != nil {
		return v, 0, err
	}
	x, ok := v.AsFloat()
	if !ok || !(least <= x && x <= most) {
		err = b.refusal("", "%s, %s, is %v and not a %s", what, f.Text, v, kind)
	}
	return v, x, err
}
