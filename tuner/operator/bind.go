package operator

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"autotune/space/expr"
)

// Request is what a user asks of an operator.
type Request struct {
	Shape      []int64
	Parameters map[string]string // as given to --set; empty: the operator's preset
	Math       string            // "", "auto" or a math mode
}

// ParseShape reads a shape as 16x16x1024x1024.
func ParseShape(s string) ([]int64, error) {
	var shape []int64
	for _, part := range strings.Split(s, "x") {
		v, err := strconv.ParseInt(part, 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return nil, &RequestError{Message: fmt.Sprintf("`%s` is not a shape", s), Hint: "the dimension " + part + " does not fit 64 bits"}
		}
		if err != nil || part[0] == '+' {
			return nil, &RequestError{Message: fmt.Sprintf("`%s` is not a shape", s), Hint: "a shape is integers with x between them, as 16x64x512x512"}
		}
		if v < 1 {
			return nil, &RequestError{Message: fmt.Sprintf("`%s` is not a shape", s), Hint: fmt.Sprintf("each dimension must be at least 1; got %d", v)}
		}
		shape = append(shape, v)
	}
	return shape, nil
}

// FormatShape writes a shape as ParseShape reads it.
func FormatShape(shape []int64) string {
	parts := make([]string, len(shape))
	for i, v := range shape {
		parts[i] = strconv.FormatInt(v, 10)
	}
	return strings.Join(parts, "x")
}

// Bind turns a request into a problem. What the request got wrong is a
// *RequestError.
func (o *Operator) Bind(r Request, lim Limits) (*Problem, error) {
	b := binder{o: o, env: map[string]expr.Value{}, limits: lim}
	p := &Problem{Operator: o, Shape: slices.Clone(r.Shape), Limits: lim}
	if err := b.shape(r.Shape); err != nil {
		return nil, err
	}
	if err := b.parameters(r.Parameters, p); err != nil {
		return nil, err
	}
	if err := b.math(r.Math, p); err != nil {
		return nil, err
	}
	if err := b.derived(); err != nil {
		return nil, err
	}
	if err := b.requires(); err != nil {
		return nil, err
	}
	if err := b.tensors(p); err != nil {
		return nil, err
	}
	if err := b.numbers(p); err != nil {
		return nil, err
	}
	p.Values = b.env
	return p, nil
}

// binder evaluates an operator's expressions for one request. Its environment
// grows on the way: dimensions, parameters, math mode, derived values.
type binder struct {
	o      *Operator
	env    map[string]expr.Value
	limits Limits
}

func (b *binder) fault(hint, format string, args ...any) error {
	return &RequestError{Operator: b.o.Name, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func (b *binder) shape(shape []int64) error {
	names := b.o.Shape
	if len(shape) != len(names) {
		example := b.o.Example
		if example == nil {
			example = slices.Repeat([]int64{16}, len(names))
		}
		return b.fault("", "the shape has %s, as %s; got %d in %s", dims(names), FormatShape(example), len(shape), FormatShape(shape))
	}
	for i, v := range shape {
		if v < 1 {
			return b.fault("", "each dimension must be at least 1; got %s=%d", names[i], v)
		}
		b.env[names[i]] = expr.Int(v)
	}
	return nil
}

func dims(names []string) string {
	if len(names) == 1 {
		return "1 dimension " + names[0]
	}
	return fmt.Sprintf("%d dimensions %s", len(names), strings.Join(names, ","))
}

// parameters parses what is given and fills in defaults, each after those that
// it names.
func (b *binder) parameters(given map[string]string, p *Problem) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if b.o.parameter(name) == nil {
			return b.fault(nearestOrAll(name, "there are", b.o.parameterNames()), "unknown parameter `%s`", name)
		}
	}
	preset := len(given) == 0 && len(b.o.Preset) > 0
	if preset {
		given = b.o.Preset
	}
	order, _ := expr.DependencyOrder(b.o.parameterNames(), b.o.parameterNeeds) // Load refuses cycles
	values := map[string][]int64{}
	for _, name := range order {
		spec := b.o.parameter(name)
		var err error
		if text, ok := given[name]; ok {
			values[name], err = spec.parse(text)
		} else {
			values[name], err = b.defaults(spec)
		}
		if err == nil {
			err = spec.admits(values[name])
		}
		if err != nil {
			return b.fault("", "%v", err)
		}
		for i, component := range spec.Components() {
			b.env[component] = spec.value(values[name][i])
		}
	}
	for _, spec := range b.o.Parameters {
		p.Parameters = append(p.Parameters, Parameter{spec.Name, spec.format(values[spec.Name])})
	}
	return nil
}

// defaults evaluates a parameter's default, once a component.
func (b *binder) defaults(spec *ParameterSpec) ([]int64, error) {
	if spec.Default == nil {
		example := "3"
		if len(spec.Suffix) == 2 {
			example = "3x3"
		}
		if b.o.Preset != nil {
			return nil, fmt.Errorf("`%s` must be set too, as %s=%s: the preset %s is used only when nothing is set", spec.Name, spec.Name, example, formatPreset(b.o))
		}
		return nil, fmt.Errorf("`%s` must be set, as %s=%s", spec.Name, spec.Name, example)
	}
	var values []int64
	for i := range spec.Suffix {
		env := maps.Clone(b.env)
		for _, other := range b.o.Parameters {
			if v, ok := b.env[other.Components()[min(i, len(other.Suffix)-1)]]; ok && len(other.Suffix) == len(spec.Suffix) {
				env[other.Name] = v
			}
		}
		v, err := spec.Default.code.Eval(env)
		if err != nil {
			return nil, fmt.Errorf("the default of `%s`, %s: %w", spec.Name, spec.Default.Text, err)
		}
		n, ok := v.AsInt()
		if !ok {
			return nil, fmt.Errorf("the default of `%s`, %s, is %v and not an integer", spec.Name, spec.Default.Text, v)
		}
		values = append(values, n)
	}
	return values, nil
}

func formatPreset(o *Operator) string {
	var parts []string
	for _, spec := range o.Parameters {
		if v, ok := o.Preset[spec.Name]; ok {
			parts = append(parts, spec.Name+"="+v)
		}
	}
	return strings.Join(parts, " ")
}

// math settles the math mode.
func (b *binder) math(asked string, p *Problem) error {
	p.Math = asked
	if asked == "" || asked == "auto" {
		env := maps.Clone(b.env)
		maps.Copy(env, b.limits.values())
		v, err := b.o.MathAuto.code.Eval(env)
		if err != nil {
			return b.fault("", "the math mode for auto, %s: %v", b.o.MathAuto, err)
		}
		p.Math = v.String()
	}
	if !slices.Contains(b.o.MathModes, p.Math) {
		return b.fault("it has "+strings.Join(b.o.MathModes, ", "), "there is no math mode `%s`", p.Math)
	}
	b.env["math"] = expr.String(p.Math)
	return nil
}

// DerivedInOrder lists the derived values, each after those that it needs.
func (o *Operator) DerivedInOrder() []Definition {
	order, _ := definitionOrder(o.Derived) // Load refuses cycles
	return order
}

func (b *binder) derived() error {
	for _, d := range b.o.DerivedInOrder() {
		v, err := b.eval(d.Name, d.Formula)
		if err != nil {
			return err
		}
		b.env[d.Name] = v
	}
	return nil
}

func (b *binder) eval(what string, f Formula) (expr.Value, error) {
	v, err := f.code.Eval(b.env)
	if err != nil {
		return v, b.fault("", "%s = %s cannot be computed for this problem: %v", what, f.Text, err)
	}
	return v, nil
}

func (b *binder) requires() error {
	for _, r := range b.o.Requires {
		v, err := b.eval("requirement", r.That)
		if err != nil {
			return err
		}
		if v.Truth() {
			continue
		}
		because, err := b.because(r)
		if err != nil {
			return err
		}
		var values []string
		for _, name := range r.That.code.Names() {
			values = append(values, fmt.Sprintf("%s=%v", name, b.env[name]))
		}
		return b.fault("", "%s (%s is needed; here %s)", because, r.That.Text, strings.Join(values, " "))
	}
	return nil
}

func (b *binder) because(r Requirement) (string, error) {
	var text strings.Builder
	for _, part := range r.parts {
		f, ok := part.(Formula)
		if !ok {
			text.WriteString(part.(string))
			continue
		}
		v, err := b.eval("explanation", f)
		if err != nil {
			return "", err
		}
		text.WriteString(v.String())
	}
	return text.String(), nil
}

func (b *binder) tensors(p *Problem) error {
	for _, spec := range b.o.Tensors {
		t := Tensor{Name: spec.Name, Role: spec.Role, Elements: 1}
		for i, f := range spec.Shape {
			v, err := b.eval(spec.Name, f)
			if err != nil {
				return err
			}
			n, ok := v.AsInt()
			if !ok || n < 0 || n < 1 && spec.Role == Output {
				return b.fault("", "dimension %d of `%s`, %s, would be %v", i+1, spec.Name, f.Text, v)
			}
			if n > 0 && t.Elements > (1<<58)/n {
				return b.fault("", "`%s` would have more than 2^58 elements", spec.Name)
			}
			t.Elements *= n
			t.Shape = append(t.Shape, n)
		}
		if spec.Role == Weight {
			t.Scale = 1
		}
		if spec.Scale != nil {
			v, err := b.eval("scale", *spec.Scale)
			if err != nil {
				return err
			}
			scale, ok := v.AsFloat()
			if !ok {
				return b.fault("", "the scale of `%s`, %s, is %v and not a number", spec.Name, spec.Scale.Text, v)
			}
			t.Scale = scale
		}
		p.Tensors = append(p.Tensors, t)
	}
	return nil
}

// numbers evaluates costs and tolerances.
func (b *binder) numbers(p *Problem) error {
	for _, cost := range []struct {
		what string
		f    Formula
		to   *int64
	}{{"cost.bytes", b.o.Bytes, &p.Bytes}, {"cost.flops", b.o.Flops, &p.Flops}} {
		v, err := b.eval(cost.what, cost.f)
		if err != nil {
			return err
		}
		f, ok := v.AsFloat()
		if !ok || f < 0 || f > 1<<62 {
			return b.fault("", "%s, %s, is %v and not a count", cost.what, cost.f.Text, v)
		}
		if n, ok := v.AsInt(); ok {
			*cost.to = n
		} else {
			*cost.to = int64(f)
		}
	}
	for _, tolerance := range []struct {
		what string
		f    Formula
		to   *float64
	}{{"tolerance.atol", b.o.ATol, &p.ATol}, {"tolerance.rtol", b.o.RTol, &p.RTol}} {
		v, err := b.eval(tolerance.what, tolerance.f)
		if err != nil {
			return err
		}
		f, ok := v.AsFloat()
		if !ok || !(f >= 0) || math.IsInf(f, 0) {
			return b.fault("", "%s, %s, is %v and not a tolerance", tolerance.what, tolerance.f.Text, v)
		}
		*tolerance.to = f
	}
	return nil
}
