package pack

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// Tensor is what a call takes a pointer for.
type Tensor struct {
	Name  string
	Role  string // input, weight, output, inout or workspace
	Type  string // "" of a workspace
	Shape []int64
	Bytes int64 // 0: the pointer is null
	Last  bool  // the second dimension lies last in memory
}

// Plan is a problem with the kernel that was chosen for it.
type Plan struct {
	Entry   *Entry   // the problem's own kernel; nil if another runs
	Family  *Family  // the family that serves the problem, and
	Variant *Variant // its kernel; nil if another runs
	General *General // the general kernel; nil if a tuned one runs
	Math    string
	Tensors []Tensor // what Launch takes, in order: the operator's, then workspaces
	loader  *Loader
	mutex   sync.Mutex // of kernels
	kernels []Kernel   // of steps, once they are loaded
	steps   []step
	scalars []Named[int64]
	maps    []passedMap
}

// step is one launch of a plan.
type step struct {
	Launch
	file    string
	patch           // of the file
	tensors []int   // the kernel's arguments in order, as indexes among the plan's tensors and, behind them, scalars and words of maps
	sizes   []int64 // the arguments that follow, of a general kernel: the last by itself, the others as one struct
}

// passedMap is a tensor map that a launch passes.
type passedMap struct {
	of     int                   // the tensor's index
	behind [mapWords - 1]Pointer // the words behind its address
}

// problem is an operator's problem: what its names mean, and its tensors.
type problem struct {
	operator *Operator
	values   map[string]expr.Value
	tensors  []Tensor
}

// Plan chooses a kernel for a problem: the problem's own if this GPU can run one, or else a family's, or else
// the general one. Parameters are written as for --set, as "3x5"; a math
// mode of "" is the one that PyTorch would take.
func (l *Loader) Plan(operator string, shape []int64, parameters map[string]string, math string) (*Plan, error) {
	o := l.pack.operator(operator)
	if o == nil {
		names := lists.Of(l.pack.Operators, func(o *Operator) string { return o.Name })
		return nil, fmt.Errorf("the pack has no operator %q; it has %s", operator, strings.Join(names, ", "))
	}
	plan, err := l.plan(o, shape, parameters, math)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operator, err)
	}
	return plan, nil
}

func (l *Loader) plan(o *Operator, shape []int64, parameters map[string]string, mode string) (*Plan, error) {
	q, err := l.pack.bind(o, shape, parameters, mode, l.gpu.Arch)
	if err != nil {
		return nil, err
	}
	p := &Plan{loader: l, Math: q.values["math"].String(), Tensors: q.tensors}
	if p.exact(q, mode == "") || p.family(q, mode == "") || p.general(q) {
		return p, nil
	}
	return nil, fmt.Errorf("no kernel of the pack is for this problem in math mode %s on %s", p.Math, l.gpu)
}

// best is the entry or family that suits the GPU best: one that was measured on its model, and else one for the newest
// architecture. about tells what was tuned, whether it was measured, what it launches, and whether it serves the problem.
func best[T any](p *Plan, auto bool, all []T, about func(T) (t *Tuned, measured bool, launches []Launch, serves bool)) (found T, ok bool) {
	highest := -1
	for _, one := range all {
		t, measured, launches, serves := about(one)
		mode := t.Math == p.Math || auto && t.Auto
		if !mode || !serves || !p.loader.gpu.runs(t.Target, t.Device, launches) {
			continue
		}
		if rank := p.loader.gpu.rank(t.Target, t.Device, measured); rank > highest {
			found, highest = one, rank
		}
	}
	return found, highest >= 0
}

// exact looks for the problem's own entry.
func (p *Plan) exact(q problem, auto bool) bool {
	e, ok := best(p, auto, p.loader.pack.Entries, func(e *Entry) (*Tuned, bool, []Launch, bool) {
		return &e.Tuned, e.Time != nil, e.Launches, e.Operator == q.operator.Name && q.has(q.determining(), e.Values)
	})
	if ok {
		p.Entry, p.Math = e, e.Math
		p.take(e.Code, patch{})
	}
	return ok
}

// family looks for a family that serves the problem, and lets its tree choose. Not ok: the tree chooses the general
// kernel, or there is no such family.
func (p *Plan) family(q problem, auto bool) bool {
	f, ok := best(p, auto, p.loader.pack.Families, func(f *Family) (*Tuned, bool, []Launch, bool) {
		return &f.Tuned, f.Regret != nil, nil, f.Operator == q.operator.Name && f.has(q)
	})
	if !ok {
		return false
	}
	v, code, sizes := f.choose(q.values, p.loader.gpu)
	if v == nil {
		return false
	}
	p.Family, p.Variant, p.Math = f, v, f.Math
	p.take(code, patch{v.Sizes.At, string(sizes)})
	return true
}

// take adds a file's launches to the plan.
func (p *Plan) take(c Code[int64], at patch) {
	p.scalars = c.Scalars
	for _, w := range c.Workspaces {
		p.Tensors = append(p.Tensors, Tensor{Name: w.Name, Role: "workspace", Shape: []int64{w.Value}, Bytes: w.Value})
	}
	for _, launch := range c.Launches {
		s := step{Launch: launch, file: c.File, patch: at, tensors: p.places(launch.Arguments)}
		for _, m := range launch.Maps {
			passed := passedMap{of: s.tensors[m.At]}
			for i, word := range m.Words {
				passed.behind[i] = Pointer(word)
			}
			s.tensors[m.At] = len(p.Tensors) + len(p.scalars) + mapWords*len(p.maps)
			p.maps = append(p.maps, passed)
		}
		p.steps = append(p.steps, s)
	}
}

// has tells whether the problem has these values.
func (q problem) has(names []string, values map[string]expr.Value) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !values[name].Equal(q.values[name]) })
}

// determining are the names that determine a problem: dimensions and parameters' components.
func (q problem) determining() []string {
	return slices.Concat(q.operator.Shape, q.operator.components())
}

// places are the indexes of arguments among the plan's tensors and, behind them, scalars.
func (p *Plan) places(names []string) []int {
	tensors := lists.Of(p.Tensors, func(t Tensor) string { return t.Name })
	all := append(tensors, lists.Of(p.scalars, func(s Named[int64]) string { return s.Name })...)
	return lists.Of(names, func(name string) int { return slices.Index(all, name) })
}

// The general kernels' blocks, which go over all elements.
const (
	generalBlock = 256
	generalGrid  = 1 << 20
)

// general takes the kernel that is right for every problem.
func (p *Plan) general(q problem) bool {
	written := slices.IndexFunc(q.tensors, func(t Tensor) bool { return t.Role == "output" })
	if written < 0 {
		return false
	}
	for _, g := range p.loader.pack.General {
		made := slices.Collect(maps.Keys(g.Values))
		if g.Operator != q.operator.Name || g.Math != p.Math || g.Type != q.tensors[0].Type || !q.has(made, g.Values) {
			continue
		}
		elements := int64(1)
		for _, extent := range q.tensors[written].Shape {
			elements *= extent // it does not overflow: bind has checked
		}
		blocks := min((elements+generalBlock-1)/generalBlock, generalGrid)
		s := step{Launch: Launch{Entry: g.Entry, Grid: [3]int64{blocks, 1, 1}, Block: [3]int64{generalBlock, 1, 1}}, file: g.File}
		for i := range q.tensors {
			if i != written {
				s.tensors = append(s.tensors, i)
			}
		}
		s.tensors = append(s.tensors, written)
		for _, name := range g.Sizes {
			s.sizes = append(s.sizes, bits(q.values[name]))
		}
		s.sizes = append(s.sizes, elements)
		p.General, p.steps = g, []step{s}
		return true
	}
	return false
}

// bits is a value as a general kernel gets it.
func bits(v expr.Value) int64 {
	if x, _ := v.AsFloat(); v.Kind() == expr.KindFloat {
		return int64(math.Float64bits(x))
	}
	n, _ := v.AsInt()
	return n
}

// bind checks a problem and computes all its formulas.
func (m *Manifest) bind(o *Operator, shape []int64, given map[string]string, mode string, arch int) (problem, error) {
	q, f := problem{operator: o, values: map[string]expr.Value{"arch": expr.Int(int64(arch))}}, fault{}
	if !f.need(len(shape) == len(o.Shape), "the shape has the dimensions %s; got %v", strings.Join(o.Shape, ", "), shape) {
		return q, f.error
	}
	for i, name := range o.Shape {
		f.need(shape[i] >= 1, "each dimension must be at least 1; got %s=%d", name, shape[i])
		q.values[name] = expr.Int(shape[i])
	}
	for name := range sorted(given) {
		known := slices.ContainsFunc(o.Parameters, func(s Parameter) bool { return s.Name == name })
		f.need(known, "there is no parameter `%s`", name)
	}
	for _, s := range o.Parameters {
		f.error = cmp.Or(f.error, q.set(s, given))
	}
	if f.error = cmp.Or(f.error, q.math(mode)); f.error != nil {
		return q, f.error
	}
	for _, d := range o.Derived {
		v, err := d.Value.Eval(q.values)
		f.within(err, "`%s` cannot be computed for this problem", d.Name)
		q.values[d.Name] = v
	}
	for _, r := range o.Requires {
		holds, err := r.That.Eval(q.values)
		f.within(err, "a requirement cannot be computed for this problem")
		if !holds.Truth() {
			f.need(false, "%s", q.fill(r.Because))
		}
	}
	for _, s := range o.Tensors {
		t, err := q.tensor(s, m.Types)
		f.within(err, "the tensor `%s`", s.Name)
		q.tensors = append(q.tensors, t)
	}
	return q, f.error
}

// math is the mode that is named, or else the one that PyTorch would take.
func (q problem) math(mode string) (err error) {
	v := expr.String(mode)
	if mode == "" {
		if v, err = q.operator.MathAuto.Eval(q.values); err != nil {
			return fmt.Errorf("the math mode: %w", err)
		}
	}
	if !slices.Contains(q.operator.Math, v.String()) {
		return fmt.Errorf("there is no math mode %q; there are %s", v, strings.Join(q.operator.Math, ", "))
	}
	q.values["math"] = v
	return nil
}

// set gives a parameter's components their values.
func (q problem) set(s Parameter, given map[string]string) error {
	text, isGiven := given[s.Name]
	parts := strings.Split(text, "x")
	if s.Type == "word" || s.Type == "float" || len(parts) == 1 {
		parts = slices.Repeat([]string{text}, len(s.Components))
	}
	if isGiven && len(parts) != len(s.Components) {
		return fmt.Errorf("`%s` has 1 number or %d; got `%s`", s.Name, len(s.Components), text)
	}
	for i, c := range s.Components {
		var v expr.Value
		var err error
		switch {
		case isGiven:
			v, err = s.value(parts[i])
		case c.Default.Expr == nil:
			return fmt.Errorf("`%s` must be given", s.Name)
		default:
			v, err = c.Default.Eval(q.values)
		}
		if x, ok := v.AsFloat(); s.Type == "float" && ok {
			v = expr.Float(x + 0) // -0 becomes 0
		}
		if err == nil {
			err = s.admits(v)
		}
		if err != nil {
			return fmt.Errorf("`%s`: %w", s.Name, err)
		}
		q.values[c.Name] = v
	}
	return nil
}

// value reads one component.
func (s Parameter) value(text string) (expr.Value, error) {
	switch s.Type {
	case "word":
		return expr.String(text), nil
	case "bool":
		is, err := strconv.ParseBool(text)
		return expr.Bool(is), err
	case "float":
		x, err := strconv.ParseFloat(text, 64)
		return expr.Float(x), err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return expr.Int(n), err
}

// admits checks the bounds.
func (s Parameter) admits(v expr.Value) error {
	n, isInt := v.AsInt()
	x, isNumber := v.AsFloat()
	switch {
	case s.Type == "word" && !slices.Contains(s.Words, v.String()):
		return fmt.Errorf("it is one of %s; got %s", strings.Join(s.Words, ", "), v)
	case s.Type == "float" && (!isNumber || math.IsNaN(x) || math.IsInf(x, 0)):
		return fmt.Errorf("it is a number; got %s", v)
	case s.Type != "word" && s.Type != "float" && !isInt:
		return fmt.Errorf("it is an integer; got %s", v)
	case s.Min != nil && below(v, *s.Min):
		return fmt.Errorf("it must be at least %s; got %s", s.Min, v)
	case s.Max != nil && below(*s.Max, v):
		return fmt.Errorf("it must be at most %s; got %s", s.Max, v)
	case len(s.Choices) > 0 && !slices.Contains(s.Choices, n):
		return fmt.Errorf("it must be one of %v; got %d", s.Choices, n)
	}
	return nil
}

func below(a, b expr.Value) bool {
	order, _ := a.Compare(b)
	return order < 0
}

// tensor computes a tensor's type and shape.
func (q problem) tensor(s TensorSpec, types map[string]int64) (Tensor, error) {
	t := Tensor{Name: s.Name, Role: s.Role, Type: s.Type, Last: s.OrderBy != "" && q.values[s.OrderBy].Equal(expr.String("nhwc"))}
	if s.TypeBy != "" {
		t.Type = q.values[s.TypeBy].String()
	}
	if t.Bytes = types[t.Type]; t.Bytes < 1 {
		return t, fmt.Errorf("the pack does not say how many bytes an element of the type %s has", t.Type)
	}
	for _, f := range s.Shape {
		v, err := f.Eval(q.values)
		if err != nil {
			return t, err
		}
		n, isInt := v.AsInt()
		switch {
		case !isInt || n < 0 || n > 0 && t.Bytes > math.MaxInt64/32/n:
			return t, fmt.Errorf("its extent %s would be %s", f, v)
		case n == 0 && s.Role != "input" && s.Role != "weight":
			return t, fmt.Errorf("its extent %s would be 0", f)
		}
		t.Shape, t.Bytes = append(t.Shape, n), t.Bytes*n
	}
	t.Last = t.Last && len(t.Shape) > 2
	return t, nil
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// fill puts values in the place of an explanation's formulas.
func (q problem) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(part string) string {
		if e, err := expr.Parse(part[1 : len(part)-1]); err == nil {
			if v, err := e.Eval(q.values); err == nil {
				return v.String()
			}
		}
		return part
	})
}

func (o *Operator) components() []string {
	var names []string
	for _, s := range o.Parameters {
		for _, c := range s.Components {
			names = append(names, c.Name)
		}
	}
	return names
}

// sorted goes over a map in the order of its keys.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
