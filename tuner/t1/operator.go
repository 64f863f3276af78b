package t1

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"autotune/internal/cudafile"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/draft"
	"autotune/tuner/operator"
	"autotune/tuner/operator/tree"
)

// Operator makes an operator of the document and the text of its kernel's file. The
// notes say, a line each, what the document has and the operator has not, or not so.
func (d *Document) Operator(ctx context.Context, source string) (o draft.Operator, notes []string, err error) {
	r := &reader{Document: d, source: source, words: cudafile.Words(source), typed: map[string]string{}}
	err = r.operator(ctx)
	for _, key := range d.root.left() {
		r.note("%s has no equivalent", key)
	}
	return r.o, r.notes, err
}

// reader fills in the draft.
type reader struct {
	*Document
	source string
	words  map[string]bool
	known  draft.Source     // the kernel's file, with the macros that the document tells
	entry  *cudafile.Kernel // nil: the source does not show it
	o      draft.Operator
	notes  []string
	given  []*section        // the arguments
	typed  map[string]string // the types of a C++ template's parameters
	dims   []string          // names of the problem's dimensions
	sized  bool              // the document has a ProblemSize
	// extents are the problem's where they are expressions over tuning parameters.
	extents []string
}

func (r *reader) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

var nameForm = regexp.MustCompile(`^[A-Za-z_]\w*`)

func (r *reader) operator(ctx context.Context) error {
	entry := r.kernel.text("KernelName")
	name := nameForm.FindString(entry)
	if name == "" {
		return fmt.Errorf("KernelSpecification.KernelName is %q; it must be the kernel's name", entry)
	}
	general, err := r.root.section("General")
	if err != nil {
		return err
	}
	benchmark := cmp.Or(general.text("BenchmarkName"), name)
	r.kernel.take("BenchmarkName")
	if r.given, err = r.kernel.sections("Arguments"); err != nil {
		return err
	}
	if k, ok := cudafile.KernelNamed(r.source, name); ok && !k.Unclear {
		r.entry = &k
	}
	r.o = draft.Operator{
		Name: name, Summary: "The kernel " + name + " of the benchmark " + benchmark + ".", SameMacros: true, Inputs: operator.Distributions(),
		Notes: map[string][]string{
			"requires":  {"A document is of one problem. Where the kernel and the sizes follow the shape, this can go."},
			"reference": {"What the default makes is taken for right; a kernel of its own would prove it."},
		},
	}
	t := &r.o.Template
	t.Name, t.Entry = name, r.entryName(entry, name)
	if name == "reference" {
		t.Name = "kernel"
	}
	if err := r.tunables(); err != nil {
		return err
	}
	steps := []func() error{r.shape, r.arguments, r.launch, r.flags, func() error { return r.defaults(ctx) }}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	r.rest()
	return nil
}

// entryName is the entry as op.yaml has it: a C++ name with the tunables in braces.
func (r *reader) entryName(entry, name string) string {
	arguments := strings.TrimPrefix(entry, name)
	if arguments == "" && (r.entry == nil || len(r.entry.Template) == 0) {
		return name
	}
	if arguments == "" {
		arguments = r.instance()
	}
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
	config, err := r.root.section("BenchmarkConfig")
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(config.values)) {
		if n, ok := config.values[name].(json.Number); ok && r.words[name] && macros[name] == "" && !draft.Defines(r.source, name) && tree.IsName(name) && !operator.IsReserved(name) {
			config.take(name)
			macros[name] = n.String()
			t.Derived = append(t.Derived, draft.Definition{Name: name, Text: n.String()})
		}
	}
	for _, name := range []string{"kernel_tuner", "block_size_x", "block_size_y", "block_size_z", "grid_size_x", "grid_size_y", "grid_size_z"} {
		if macros[name] == "" {
			macros[name] = "1" // implicit defines them
		}
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

// axes are what the dimensions of the problem are called.
var axes = []string{"x", "y", "z"}

func (r *reader) shape() error {
	sizes, err := r.kernel.texts("ProblemSize")
	if err != nil {
		return err
	}
	if len(sizes) > len(axes) {
		return fmt.Errorf("KernelSpecification.ProblemSize has %d dimensions; a grid has three", len(sizes))
	}
	r.sized = len(sizes) > 0
	if slices.ContainsFunc(sizes, func(text string) bool { _, err := strconv.ParseFloat(text, 64); return err != nil }) {
		r.extents, sizes = sizes, []string{"1"}
		r.note("KernelSpecification.ProblemSize depends on tuning parameters: the operator's sizes are fixed, so --shape is always 1")
	}
	if len(sizes) == 0 {
		sizes = []string{"1"}
		r.note("KernelSpecification.ProblemSize is missing: the operator's sizes are fixed, so --shape is always 1")
	}
	for i, text := range sizes {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n < 1 || n != math.Trunc(n) || n > 1<<53 {
			return fmt.Errorf("KernelSpecification.ProblemSize[%d] is %q; it must be a whole number above 0", i, text)
		}
		name := "problem_" + axes[i]
		for r.words[name] {
			name += "_" // the kernel has another use for it
		}
		r.dims = append(r.dims, name)
		r.o.Shape = append(r.o.Shape, draft.Dimension{Name: name, Example: int64(n)})
		r.o.Requires = append(r.o.Requires, draft.Requirement{That: fmt.Sprintf("%s == %d", name, int64(n)), Because: "the document describes no other problem"})
	}
	return nil
}

var (
	problemForm = regexp.MustCompile(`\b(?:ProblemSize|problem_size)\s*\[\s*(\d+)\s*\]`)
	extremeForm = regexp.MustCompile(`\b(max|min)\s*\(\s*([A-Za-z_]\w*)\s*\)`)
)

// expression reads a formula of the document over the tunables and the problem's size.
func (r *reader) expression(what, text string) (string, error) {
	text = problemForm.ReplaceAllStringFunc(text, func(found string) string {
		i, err := strconv.Atoi(problemForm.FindStringSubmatch(found)[1])
		if err != nil || i >= len(r.dims) {
			return found
		}
		return r.dims[i]
	})
	text = extremeForm.ReplaceAllStringFunc(text, func(found string) string {
		m := extremeForm.FindStringSubmatch(found)
		if v, ok := extreme(r.o.Template.Tunables, m[2], m[1] == "max"); ok {
			return v.Source()
		}
		return found
	})
	e, err := expr.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	for _, name := range e.Names() {
		if !slices.Contains(r.dims, name) && !slices.ContainsFunc(r.o.Template.Tunables, func(t space.Tunable) bool { return t.Name == name }) {
			return "", fmt.Errorf("%s: `%s` is neither a tuning parameter nor the problem's size", what, name)
		}
	}
	return text, nil
}

// extreme is the largest or the smallest of a tunable's values.
func extreme(tunables []space.Tunable, name string, largest bool) (best expr.Value, ok bool) {
	for _, t := range tunables {
		if t.Name != name {
			continue
		}
		return slices.MaxFunc(t.Values, func(a, b expr.Value) int {
			order, _ := a.Compare(b)
			if !largest {
				return -order
			}
			return order
		}), true
	}
	return best, false
}

func (r *reader) flags() error {
	options, err := r.kernel.texts("CompilerOptions")
	if err != nil {
		return err
	}
	for _, option := range options {
		switch {
		case strings.HasPrefix(option, "-std=") || strings.HasPrefix(option, "--std="):
			r.note("KernelSpecification.CompilerOptions: %s is left out; kernels are compiled as C++17", option)
		case strings.HasPrefix(option, "-I"):
			r.note("KernelSpecification.CompilerOptions: %s is left out; a kernel includes files of its own folder", option)
		default:
			r.o.Template.Flags = append(r.o.Template.Flags, option)
		}
	}
	return nil
}

// rest says what there is instead of some keys without an equivalent.
func (r *reader) rest() {
	for key, instead := range map[string]string{
		"Search": "--strategy of search", "Budget": "--budget and --time of search",
	} {
		if v := r.root.take(key); !nothing(v) {
			r.note("%s is left out: %s", key, instead)
		}
	}
	r.root.take("$schema")
	if v := r.kernel.take("SimulationInput"); !nothing(v) {
		r.note("KernelSpecification.SimulationInput is left out: autotune import %v makes a recording of it", v)
	}
	slices.Sort(r.notes)
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
		given, err := r.parameters[i].texts("Default")
		if err != nil {
			return err
		}
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

// example is the problem that the document describes.
func (r *reader) example() map[string]expr.Value {
	values := map[string]expr.Value{}
	for _, d := range r.o.Shape {
		values[d.Name] = expr.Int(d.Example)
	}
	return values
}

// launch reads block, grid and shared memory, as Kernel Tuner does: the grid is the
// problem's size divided by GridDivX, Y and Z, rounded up; without a ProblemSize it is
// GlobalSize, in blocks or, as OpenCL counts, in threads.
func (r *reader) launch() (err error) {
	t := &r.o.Template
	if t.Block, err = r.axes("LocalSize", "block_size_"); err != nil {
		return err
	}
	if r.sized && !nothing(r.kernel.take("GlobalSize")) {
		r.note("KernelSpecification.GlobalSize is left out: the grid is ProblemSize divided by GridDivX, GridDivY and GridDivZ")
	}
	global, err := r.axes("GlobalSize", "")
	if err != nil {
		return err
	}
	kind := r.kernel.text("GlobalSizeType")
	for i, axis := range axes {
		divisors, err := r.kernel.texts("GridDiv" + strings.ToUpper(axis))
		if err != nil {
			return err
		}
		switch {
		case r.sized:
			if t.Grid[i], err = r.divided(i, divisors); err != nil {
				return err
			}
		case kind == "OpenCL":
			t.Grid[i] = ceilDiv(global[i], t.Block[i])
		default:
			t.Grid[i] = global[i]
		}
	}
	if shared := r.kernel.text("SharedMemory"); shared != "" && shared != "0" {
		if t.Shared, err = r.expression("KernelSpecification.SharedMemory", shared); err != nil {
			return err
		}
	}
	r.implicit()
	return nil
}

// axes reads an object of X, Y and Z. One that is absent is the tunable with the usual
// name, if there is one, else 1.
func (r *reader) axes(key, usual string) (all [3]string, err error) {
	s, err := r.kernel.section(key)
	if err != nil {
		return all, err
	}
	for i, axis := range axes {
		text := s.text(strings.ToUpper(axis))
		switch {
		case text == "" && usual != "" && r.tunable(usual+axis):
			all[i] = usual + axis
		case text == "" || text == usual+axis && !r.tunable(text): // Kernel Tuner's name for an axis that nobody tunes
			all[i] = "1"
		default:
			if all[i], err = r.expression(s.name(strings.ToUpper(axis)), text); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

func (r *reader) tunable(name string) bool {
	return slices.ContainsFunc(r.o.Template.Tunables, func(t space.Tunable) bool { return t.Name == name })
}

// divided is the grid along an axis of the problem.
func (r *reader) divided(axis int, divisors []string) (string, error) {
	extents := r.dims
	if r.extents != nil {
		extents = r.extents
	}
	if axis >= len(extents) {
		return "1", nil
	}
	extent, err := r.expression("KernelSpecification.ProblemSize", extents[axis])
	if err != nil {
		return "", err
	}
	if usual := "block_size_" + axes[axis]; divisors == nil && r.tunable(usual) {
		divisors = []string{usual}
	}
	product := make([]string, len(divisors))
	for i, divisor := range divisors {
		text, err := r.expression("KernelSpecification.GridDiv"+strings.ToUpper(axes[axis]), divisor)
		if err != nil {
			return "", err
		}
		if text == "1" && len(divisors) == 1 {
			return extent, nil
		}
		if product[i] = text; !nameForm.MatchString(text) || nameForm.FindString(text) != text {
			product[i] = "(" + text + ")"
		}
	}
	if len(product) == 0 {
		return extent, nil
	}
	return ceilDiv(extent, strings.Join(product, "*")), nil
}

func ceilDiv(a, b string) string {
	if b == "1" {
		return a
	}
	return fmt.Sprintf("ceil_div(%s, %s)", a, b)
}

// implicit defines what Kernel Tuner defines for every kernel, as far as this one
// mentions it: its own name, the extents of block and grid.
func (r *reader) implicit() {
	t := &r.o.Template
	add := func(name, text string) {
		if r.words[name] && !r.tunable(name) {
			t.Derived = append(t.Derived, draft.Definition{Name: name, Text: text})
		}
	}
	add("kernel_tuner", "1")
	for i, axis := range axes {
		add("block_size_"+axis, t.Block[i])
	}
	for i, axis := range axes {
		add("grid_size_"+axis, t.Grid[i])
	}
}
