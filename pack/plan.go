package pack

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"autotune/internal/lists"
	"autotune/space/expr"
)

// Tensor is a tensor or workspace that a launch takes a pointer for.
type Tensor struct {
	Name  string
	Role  string // input, weight, output, inout or workspace
	Type  string // "" for a workspace
	Shape []int64
	Bytes int64 // if 0, the pointer may be null
	Last  bool  // the second dimension lies last in memory
}

// Plan is a problem with the kernel that was packed for it.
type Plan struct {
	Entry   *Entry
	Tensors []Tensor // what Launch takes, in order: the operator's, then workspaces
	loader  *Loader
	mutex   sync.Mutex // guards kernels
	kernels []Kernel   // one for each launch, after loading
	places  [][]int    // of each launch's arguments among the plan's tensors and, behind them, scalars and words of maps
	maps    []passedMap
}

// passedMap is a tensor map that a launch passes to a kernel.
type passedMap struct {
	of     int                   // index of the tensor among the plan's
	behind [mapWords - 1]Pointer // the words after the tensor's address
}

// Plan finds the kernel that was packed for a problem. If the pack has several kernels for the problem, Plan chooses
// the kernel that was measured on this model of GPU or, without one, the kernel for the newest architecture. Parameters
// are written as for --set, for example "3x5". If the argument math is "", Plan uses the math mode that PyTorch would
// use.
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
	values, err := o.values(shape, parameters, l.gpu.Arch)
	if err != nil {
		return nil, err
	}
	wanted := expr.String(mode)
	if mode == "" {
		if wanted, err = o.MathAuto.Eval(values); err != nil {
			return nil, fmt.Errorf("the math mode: %w", err)
		}
	}
	var found *Entry
	highest := -1
	for _, e := range l.pack.Entries {
		differs := func(name string) bool { return !e.Values[name].Equal(values[name]) }
		inMode := e.Math == wanted.String() || mode == "" && e.Auto
		is := e.Operator == o.Name && inMode && !slices.ContainsFunc(slices.Concat(o.Shape, o.components()), differs)
		if rank := l.gpu.rank(e); is && l.gpu.runs(e) && rank > highest {
			found, highest = e, rank
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no kernel of the pack was made for this problem in math mode %s on %s", wanted, l.gpu)
	}
	values["math"] = expr.String(found.Math)
	p := &Plan{Entry: found, loader: l}
	if p.Tensors, err = o.Sized(values, l.pack.Types); err != nil {
		return nil, err
	}
	p.arrange()
	return p, nil
}

// arrange finds the places of the launches' arguments among the plan's tensors, scalars and tensor maps.
func (p *Plan) arrange() {
	for _, w := range p.Entry.Workspaces {
		p.Tensors = append(p.Tensors, Tensor{Name: w.Name, Role: "workspace", Shape: []int64{w.Value}, Bytes: w.Value})
	}
	names := lists.Of(p.Tensors, func(t Tensor) string { return t.Name })
	for _, s := range p.Entry.Scalars {
		names = append(names, s.Name)
	}
	for _, launch := range p.Entry.Launches {
		places := lists.Of(launch.Arguments, func(name string) int { return slices.Index(names, name) })
		for _, m := range launch.Maps {
			passed := passedMap{of: places[m.At]}
			for i, word := range m.Words {
				passed.behind[i] = Pointer(word)
			}
			places[m.At] = len(names) + mapWords*len(p.maps)
			p.maps = append(p.maps, passed)
		}
		p.places = append(p.places, places)
	}
}

// values returns the values of a problem's dimensions and of its parameters' components, by their names.
func (o *Operator) values(shape []int64, given map[string]string, arch int) (map[string]expr.Value, error) {
	values := map[string]expr.Value{"arch": expr.Int(int64(arch))}
	if len(shape) != len(o.Shape) {
		return nil, fmt.Errorf("the shape has the dimensions %s; got %v", strings.Join(o.Shape, ", "), shape)
	}
	for i, name := range o.Shape {
		values[name] = expr.Int(shape[i])
	}
	for name := range sorted(given) {
		if !slices.ContainsFunc(o.Parameters, func(s Parameter) bool { return s.Name == name }) {
			return nil, fmt.Errorf("there is no parameter `%s`", name)
		}
	}
	for _, s := range o.Parameters {
		text, isGiven := given[s.Name]
		if err := s.set(values, text, isGiven); err != nil {
			return nil, fmt.Errorf("`%s`: %w", s.Name, err)
		}
	}
	return values, nil
}

// set parses a parameter's text into the values of its components. If the argument given is false, the components of
// the parameter get their defaults.
func (s Parameter) set(values map[string]expr.Value, text string, given bool) (err error) {
	parts := strings.Split(text, "x")
	if s.Type == "word" || s.Type == "float" || len(parts) == 1 {
		parts = slices.Repeat([]string{text}, len(s.Components))
	}
	if given && len(parts) != len(s.Components) {
		return fmt.Errorf("it has 1 number or %d; got `%s`", len(s.Components), text)
	}
	for i, c := range s.Components {
		var v expr.Value
		switch {
		case given:
			v, err = s.value(parts[i])
		case c.Default.Expr == nil:
			return fmt.Errorf("it must be given")
		default:
			v, err = c.Default.Eval(values)
		}
		if x, isNumber := v.AsFloat(); s.Type == "float" && isNumber {
			v = expr.Float(x + 0) // -0 becomes 0
		}
		if err != nil {
			return err
		}
		values[c.Name] = v
	}
	return nil
}

// value parses the value of one component of a parameter.
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

// Sized computes the types and shapes of a problem's tensors, and adds the operator's derived values to the map values.
func (o *Operator) Sized(values map[string]expr.Value, types map[string]int64) (all []Tensor, err error) {
	for _, d := range o.Derived {
		if values[d.Name], err = d.Value.Eval(values); err != nil {
			return nil, fmt.Errorf("`%s` cannot be computed for this problem: %w", d.Name, err)
		}
	}
	for _, s := range o.Tensors {
		t := Tensor{Name: s.Name, Role: s.Role, Type: s.Type}
		t.Last = s.OrderBy != "" && len(s.Shape) > 2 && values[s.OrderBy].Equal(expr.String("nhwc"))
		if s.TypeBy != "" {
			t.Type = values[s.TypeBy].String()
		}
		t.Bytes = types[t.Type]
		for _, f := range s.Shape {
			v, err := f.Eval(values)
			n, isInt := v.AsInt()
			if err != nil || !isInt || n < 0 || n > 0 && t.Bytes > math.MaxInt64/32/n {
				return nil, fmt.Errorf("the tensor `%s`: its extent %s would be %s", s.Name, f, v)
			}
			t.Shape, t.Bytes = append(t.Shape, n), t.Bytes*n
		}
		all = append(all, t)
	}
	return all, nil
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

// sorted iterates over a map in the order of its keys.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
