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

type Request struct {
	Shape      []int64
	Parameters map[string]string // as given to --set; empty: the operator's preset
	Math       string            // "", "auto" or a math mode
	MathBy     string            // what chose the math mode, if not the user
	Only       Restriction       // the part of the space that a search of the problem is to try
	Free       []string          // dimensions that kernels take at run time
}

// RequestError says what is wrong with a user's request: the operator's name, the shape, a parameter or the math mode.
type RequestError struct {
	Operator string // "" when no operator is named so
	Message  string
	Hint     string
}

func (e *RequestError) Error() string { return tree.Sentence(e.Operator, e.Message, e.Hint) }

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

func FormatShape(shape []int64) string {
	parts := lists.Of(shape, func(v int64) string { return strconv.FormatInt(v, 10) })
	return strings.Join(parts, "x")
}

// Bind turns a request into a problem. A mistake in the request is a *RequestError.
func (o *Operator) Bind(r Request, limits Limits) (*Problem, error) {
	o = o.Plain()
	p := &Problem{Operator: o, Shape: slices.Clone(r.Shape), Values: map[string]expr.Value{}, Limits: limits, MathBy: r.MathBy}
	b := &binder{p: p, values: p.Values}
	for _, step := range []func(Request){b.shape, b.free, b.parameters, b.math, b.derived, b.requirements, b.epilogue, b.arguments, b.cost, b.part} {
		if step(r); b.err != nil {
			return nil, b.err
		}
	}
	return p, nil
}

// binder computes a problem from one request, step by step. After a fault, binder goes on with zeros that are not used.
type binder struct {
	p      *Problem
	values map[string]expr.Value // what formulas know: the problem's values, so far, or a template's too
	err    error                 // the first fault
}

func (b *binder) refuse(hint, format string, args ...any) {
	if b.err == nil {
		b.err = b.p.Operator.refusal(hint, format, args...)
	}
}

func (o *Operator) refusal(hint, format string, args ...any) error {
	return &RequestError{Operator: o.Name, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func (b *binder) shape(Request) {
	names, shape := b.p.Operator.Shape, b.p.Shape
	if len(shape) != len(names) {
		example := b.p.Operator.Example
		if example == nil {
			example = slices.Repeat([]int64{16}, len(names))
		}
		given := FormatShape(shape)
		b.refuse("", "the shape has %s, as %s; got %d in %s", dims(names), FormatShape(example), len(shape), given)
		return
	}
	for i, v := range shape {
		if v < 1 {
			b.refuse("", "each dimension must be at least 1; got %s=%d", names[i], v)
		}
		b.values[names[i]] = expr.Int(v)
	}
}

func dims(names []string) string {
	if len(names) == 1 {
		return "1 dimension " + names[0]
	}
	return fmt.Sprintf("%d dimensions %s", len(names), strings.Join(names, ","))
}

// free reads which dimensions kernels take at run time, and sorts these dimensions in the shape's order.
func (b *binder) free(r Request) {
	shape := b.p.Operator.Shape
	for i, name := range r.Free {
		if !slices.Contains(shape, name) {
			hint := tree.NearestOrAll(name, "there are", shape)
			b.refuse(hint, "no dimension is called `%s`, and only dimensions can be free", name)
		}
		if slices.Contains(r.Free[:i], name) {
			b.refuse("", "the dimension `%s` is given as free twice", name)
		}
	}
	b.p.Free = lists.Where(shape, func(name string) bool { return slices.Contains(r.Free, name) })
}

// parameters parses the parameters that the request gives, and computes the defaults of all other parameters, in an
// order in which each default follows the parameters that it depends on.
func (b *binder) parameters(r Request) {
	o, given := b.p.Operator, r.Parameters
	for _, name := range sorted(given) {
		if o.parameter(name) == nil {
			b.refuse(tree.NearestOrAll(name, "there are", o.parameterNames()), "unknown parameter `%s`", name)
			return
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
			b.refuse("", "%v", err)
			return
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
}

func (b *binder) isDefault(spec *ParameterSpec, values []expr.Value) bool {
	usual, err := b.given(spec, nil)
	return err == nil && slices.Equal(values, usual)
}

// given returns the value of each of a parameter's components: the value that the user gave, or else the default.
func (b *binder) given(spec *ParameterSpec, given map[string]string) ([]expr.Value, error) {
	if text, ok := given[spec.Name]; ok {
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

// componentValues returns the values that the default of one component of a parameter may use. In the default of a
// component, the name of another parameter with as many components means the component with the same index.
func (b *binder) componentValues(spec *ParameterSpec, component int) map[string]expr.Value {
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

func (b *binder) derived(Request) {
	for _, d := range b.p.Operator.Derived {
		b.values[d.Name] = b.eval(d.Name, d.Formula)
	}
}

func (b *binder) requirements(Request) {
	for _, r := range b.p.Operator.Requires {
		if b.eval("requirement", r.That).Truth() {
			continue
		}
		because, _ := r.Because.fill(func(f Formula) (expr.Value, error) { return b.eval("explanation", f), nil })
		b.refuse("", "%s (%s is needed; here %s)", because, r.That.Text, valuesOf(r.That, b.values))
	}
}

func valuesOf(f Formula, env map[string]expr.Value) string {
	words := lists.Of(f.code.Names(), func(name string) string { return fmt.Sprintf("%s=%v", name, env[name]) })
	return strings.Join(words, " ")
}

func (b *binder) arguments(Request) {
	for _, spec := range b.p.Operator.Arguments {
		bound := b.tensor
		switch {
		case spec.Owner != "":
			bound = b.workspace
		case spec.Role == Scalar:
			bound = b.scalar
		}
		b.p.Arguments = append(b.p.Arguments, bound(spec))
	}
}

func (b *binder) tensor(spec ArgumentSpec) Argument {
	t := Argument{
		Name: spec.Name, Role: spec.Role, Type: spec.typeIn(b.values), Order: spec.orderIn(b.values), Elements: 1,
		Symbol: spec.Symbol, Owner: spec.Owner,
	}
	for i, f := range spec.Shape {
		v := b.eval(spec.Name, f)
		n, ok := v.AsInt()
		if !ok || n < 0 || n < 1 && spec.Role.Compared() {
			b.refuse("", "dimension %d of `%s`, %s, would be %v", i+1, spec.Name, f.Text, v)
		}
		if n > 0 && t.Elements > (1<<58)/n {
			b.refuse("", "`%s` would have more than 2^58 elements", spec.Name)
		}
		t.Elements *= n
		t.Shape = append(t.Shape, n)
	}
	if spec.Role == Weight {
		t.Scale = 1
	}
	if spec.Scale != nil {
		_, t.Scale = b.number(fmt.Sprintf("the scale of `%s`", spec.Name), *spec.Scale, "number", math.Inf(-1), math.Inf(1))
	}
	if spec.Fill != nil {
		fill := spec.Fill.bind(b, spec.Name)
		t.Fill = &fill
	}
	if spec.Role.Compared() {
		_, t.ATol = b.number("atol of `"+spec.Name+"`", spec.ATol, "tolerance", 0, math.MaxFloat64)
		_, t.RTol = b.number("rtol of `"+spec.Name+"`", spec.RTol, "tolerance", 0, math.MaxFloat64)
		t.ATol, t.RTol = b.loosened(t.ATol, t.RTol, t.Type)
	}
	return t
}

// workspace binds a workspace that belongs to a template. A kernel receives a template's workspace only in those
// launches whose `arguments` name the workspace. The workspace is empty if no template that uses the workspace serves
// the problem.
func (b *binder) workspace(spec ArgumentSpec) Argument {
	o := b.p.Operator
	served := slices.ContainsFunc(o.Templates, func(t *Template) bool {
		if !t.has(spec.Owner) {
			return false
		}
		serves, err := useOf(b.p, t).serves()
		return err == nil && serves
	})
	if !served {
		return Argument{Name: spec.Name, Role: Workspace, Type: spec.Type, Shape: []int64{0}, Owner: spec.Owner}
	}
	t, _ := o.Template(spec.Owner)
	of := &binder{p: b.p, values: useOf(b.p, t).env, err: b.err}
	for _, d := range t.Derived {
		if !slices.ContainsFunc(d.Formula.code.Names(), func(name string) bool { return of.values[name] == expr.Value{} }) {
			of.values[d.Name] = of.eval(d.Name, d.Formula)
		}
	}
	a := of.tensor(spec)
	b.err = of.err
	return a
}

func (b *binder) scalar(spec ArgumentSpec) Argument {
	v := b.eval(spec.Name, *spec.Value)
	if err := spec.Type.holds(v); err != nil {
		b.refuse("", "the scalar `%s`, %s, is %v: %v", spec.Name, spec.Value.Text, v, err)
	}
	return Argument{Name: spec.Name, Role: Scalar, Type: spec.Type, Value: v}
}

func (b *binder) cost(Request) {
	b.p.Bytes, b.p.Flops = b.count("the bytes of `cost`", b.p.Operator.Bytes), b.count("the operations of `cost`", b.p.Operator.Flops)
	for i := range b.p.Operator.Epilogue() {
		b.p.Bytes += b.p.Arguments[len(b.p.Arguments)-1-i].Bytes() // an epilogue's tensor is read once
	}
}

// part checks that the restriction in the request, if any, selects a part of the problem's search space.
func (b *binder) part(r Request) {
	if !r.Only.IsZero() {
		_, b.err = b.p.Part(r.Only)
	}
}

func (b *binder) eval(what string, f Formula) expr.Value {
	v, err := f.code.Eval(b.values)
	if err != nil {
		b.refuse("", "%s = %s cannot be computed for this problem: %v", what, f.Text, err)
	}
	return v
}

func (b *binder) count(what string, f Formula) int64 {
	v, x := b.number(what, f, "count", 0, 1<<62)
	if n, ok := v.AsInt(); ok {
		return n // conversion to float may have lost the last digits
	}
	return int64(x)
}

// number evaluates a formula and refuses a result that is not a number in the range from least to most.
func (b *binder) number(what string, f Formula, kind string, least, most float64) (expr.Value, float64) {
	v := b.eval(what, f)
	x, ok := v.AsFloat()
	if !ok || !(least <= x && x <= most) {
		b.refuse("", "%s, %s, is %v and not a %s", what, f.Text, v, kind)
	}
	return v, x
}
