package t1

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/draft"
	"autotune/tuner/operator"
	"autotune/tuner/operator/tree"
)

// entryName is the entry as op.yaml has it: a C++ name with the tunables in braces.
func (r *reader) entryName(entry, name string) string {
	arguments := strings.TrimPrefix(entry, name)
	if arguments == "" && (r.entry == nil || len(r.entry.Template) == 0) {
		return name
	}
	arguments = cmp.Or(arguments, r.instance())
	for _, t := range r.part.Tunables {
		arguments = regexp.MustCompile(`\b`+regexp.QuoteMeta(t.Name)+`\b`).ReplaceAllString(arguments, "{"+t.Name+"}")
	}
	return name + arguments
}

// instance is what a C++ template is instantiated with where the document does not say: its
// numbers are tunables of the same names, its types those of the arguments that have them.
func (r *reader) instance() string {
	var words []string
	for _, p := range r.entry.Template {
		word := p.Name
		if p.Type == "typename" || p.Type == "class" {
			word = "float"
			for i, s := range r.given {
				if i >= len(r.entry.Parameters) || r.entry.Parameters[i].Type != p.Name {
					continue
				}
				text, _ := s.values["Type"].(string)
				if t, count, err := element(text); err == nil && count == 1 {
					word = t.CUDA()
				}
				break
			}
			r.typed[p.Name] = word
		}
		words = append(words, word)
	}
	return "<" + strings.Join(words, ", ") + ">"
}

// tunables are the document's, and what the kernel's file leaves to be defined besides.
// One with a single value is that value, where its name is taken and the file lacks it.
func (r *reader) tunables() error {
	t := &r.o.Template
	fixed, macros := map[string]expr.Value{}, map[string]string{}
	parameters := r.parameters
	r.parameters = nil
	for i, own := range r.part.Tunables {
		if len(own.Values) == 0 {
			return fmt.Errorf("ConfigurationSpace: the tunable %s has no Values", own.Name)
		}
		if operator.IsReserved(own.Name) && len(own.Values) == 1 && !r.words[own.Name] {
			fixed[own.Name] = own.Values[0]
			parameters[i].take("Default")
			r.note("ConfigurationSpace: %s has one value, %s, which stands in its place", own.Name, own.Values[0])
			continue
		}
		r.parameters = append(r.parameters, parameters[i])
		t.Tunables = append(t.Tunables, space.Tunable{Name: own.Name, Values: uniform(own.Values)})
		macros[own.Name] = t.Tunables[len(t.Tunables)-1].Values[0].String()
	}
	var constraints []*expr.Expr
	for _, constraint := range r.part.Constraints {
		text := nameAnywhere.ReplaceAllStringFunc(constraint.String(), func(name string) string {
			if v, ok := fixed[name]; ok {
				return v.Source()
			}
			return name
		})
		e, err := expr.Parse(text)
		if err != nil {
			return err
		}
		constraints = append(constraints, e)
		t.Constraints = append(t.Constraints, text)
	}
	r.part.Constraints = constraints
	config := r.root.section("BenchmarkConfig")
	for _, name := range slices.Sorted(maps.Keys(config.values)) {
		if n, ok := config.values[name].(json.Number); ok && r.words[name] && macros[name] == "" && !draft.Defines(r.source, name) && tree.IsName(name) && !operator.IsReserved(name) {
			config.take(name)
			macros[name] = n.String()
			t.Derived = append(t.Derived, draft.Definition{Name: name, Text: n.String()})
		}
	}
	for _, name := range []string{"kernel_tuner", "block_size_x", "block_size_y", "block_size_z", "grid_size_x", "grid_size_y", "grid_size_z"} {
		macros[name] = cmp.Or(macros[name], "1") // implicit defines them
	}
	r.known = draft.SourceOf(r.source, macros)
	for _, name := range r.known.Undefined(r.source) {
		t.Tunables = append(t.Tunables, space.Tunable{Name: name, Values: []expr.Value{expr.Int(1)}})
		r.note("%s: nothing defines it; it is a tunable of the value 1", name)
	}
	return nil
}

var nameAnywhere = regexp.MustCompile(`[A-Za-z_]\w*`)

// uniform are the values without those that come twice, as floats if one is.
func uniform(values []expr.Value) []expr.Value {
	floats := slices.ContainsFunc(values, func(v expr.Value) bool { return v.Kind() == expr.KindFloat })
	var all []expr.Value
	seen := map[expr.Value]bool{}
	for _, v := range values {
		if f, ok := v.AsFloat(); ok && floats {
			v = expr.Float(f)
		}
		if !seen[v] {
			all, seen[v] = append(all, v), true
		}
	}
	return all
}

// longestSpace is how long it may take to find a valid default.
const longestSpace = 5 * time.Second

// defaults are the document's, or the valid configuration next to them.
func (r *reader) defaults(ctx context.Context) error {
	t := &r.o.Template
	if len(t.Tunables) == 0 {
		return nil
	}
	positions := make([]float64, len(t.Tunables))
	for i, tunable := range t.Tunables[:len(r.parameters)] {
		given := r.parameters[i].texts("Default")
		at := slices.IndexFunc(tunable.Values, func(v expr.Value) bool { return len(given) == 1 && (v.String() == given[0] || v.Source() == given[0]) })
		if at < 0 && len(given) > 0 {
			r.note("ConfigurationSpace.TuningParameters: the default %s of %s is not among its values", strings.Join(given, ","), tunable.Name)
		}
		positions[i] = float64(max(at, 0)) / float64(max(len(tunable.Values)-1, 1))
	}
	part := space.Part{Template: t.Name, Tunables: t.Tunables, Constraints: slices.Clone(r.part.Constraints), Constants: r.example()}
	threads := fmt.Sprintf("(%s)*(%s)*(%s) <= 1024", t.Block[0], t.Block[1], t.Block[2])
	limit, err := expr.Parse(threads)
	if err != nil {
		return fmt.Errorf("KernelSpecification.LocalSize: %w", err)
	}
	part.Constraints = append(part.Constraints, limit)
	// A hostile document may have a space that takes minutes.
	ctx, cancel := context.WithTimeout(ctx, longestSpace)
	defer cancel()
	all, err := space.New(ctx, part)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("its conditions take more than %v to look through for a default", longestSpace)
	}
	if err != nil {
		return fmt.Errorf("ConfigurationSpace: %w", err)
	}
	nearest, ok := all.Nearest(0, positions)
	if !ok {
		return errors.New("ConfigurationSpace: no configuration satisfies the conditions and has 1024 threads at most")
	}
	t.Default = all.At(nearest).Values
	return nil
}
