package t1

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/cudafile"
	"autotune/internal/lists"
	"autotune/internal/spelling"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/draft"
	"autotune/tuner/operator"
)

// Operator makes an operator of the document and the text of its kernel's file. The notes say, a
// line each, what of the document the operator lacks or has in another way.
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
	sizes  []string          // theirs, as the document has them
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
	benchmark := cmp.Or(r.root.section("General").text("BenchmarkName"), name)
	r.kernel.take("BenchmarkName")
	r.given = r.kernel.sections("Arguments")
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
	steps := []func() error{r.tunables, r.shape, r.arguments, r.launch, r.flags, func() error { return r.defaults(ctx) }}
	for _, step := range steps {
		err := step()
		if err = cmp.Or(r.fault, err); err != nil {
			return err
		}
	}
	r.rest()
	return nil
}

// axes are what the dimensions of the problem are called.
var axes = []string{"x", "y", "z"}

func (r *reader) shape() error {
	sizes := r.kernel.texts("ProblemSize")
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
			err := fmt.Errorf("%s: `%s` is neither a tuning parameter nor the problem's size", what, name)
			if near := spelling.Nearest(name, r.names()); near != "" {
				err = fmt.Errorf("%w; did you mean %s?", err, near)
			}
			return "", err
		}
	}
	return text, nil
}

// names are those that expressions may have.
func (r *reader) names() []string {
	names := slices.Clone(r.dims)
	names = append(names, lists.Of(r.o.Template.Tunables, func(t space.Tunable) string { return t.Name })...)
	return names
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
	for _, option := range r.kernel.texts("CompilerOptions") {
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

// rest notes what takes the place of some keys without an equivalent.
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
		divisors := r.kernel.texts("GridDiv" + strings.ToUpper(axis))
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
	s := r.kernel.section(key)
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
