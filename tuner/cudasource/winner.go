// Package cudasource exports a search's winner as CUDA source: one text that other programs can compile and that
// needs no file beside it.
//
// Of finds the winner's kernel among the operator's templates and checks that it has not changed since the search.
// Inline and Defines make one text of the kernel's files, and WriteCUDA writes it as a .cu file. Package pytorch,
// which exports winners as PyTorch modules, uses Inline and Defines as well.
package cudasource

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"autotune/operator"
	"autotune/space"
	"autotune/tuner/bestconfig"
	"autotune/tuner/torchtimes"
)

// ErrSearchAgain means that the operator has changed since the search, so that the winner is no longer valid.
var ErrSearchAgain = errors.New("search again")

type Winner struct {
	Best    bestconfig.Document
	Problem *operator.Problem
	Kernel  operator.Kernel
	Tool    string // name and version of the exporting program
}

// Of finds the winner's kernel in the operator's folder, and returns an error if the kernel has changed since the
// search. The limits may be those of any GPU if the document contains macros, since the winner then gets the measured
// macros and launches.
func Of(best bestconfig.Document, op *operator.Operator, limits operator.Limits, tool string) (Winner, error) {
	w := Winner{Best: best, Tool: tool}
	if best.Operator != op.Name {
		return w, fmt.Errorf("the best configuration is of %s, not of %s", best.Operator, op.Name)
	}
	p, err := op.Bind(best.Problem.Request(), limits)
	if err != nil {
		return w, err
	}
	c, err := configuration(best, op)
	if err != nil {
		return w, err
	}
	k, err := p.Kernel(c)
	if err != nil {
		return w, fmt.Errorf("the template has changed since the search; %w: %w", ErrSearchAgain, err)
	}
	if err := cmp.Or(measured(best, &k, limits), unchanged(best, p, k)); err != nil {
		return w, err
	}
	w.Problem, w.Kernel, w.Best.Configuration = p, k, c
	w.complete()
	return w, nil
}

// complete fills in the kernel's macros and launches if the winner's document has none.
func (w *Winner) complete() {
	if len(w.Best.Macros) > 0 {
		return
	}
	w.Best.Launches, w.Best.Macros = w.Kernel.Launches, map[string]string{}
	for _, m := range w.Kernel.Macros {
		w.Best.Macros[m.Name] = m.Value
	}
}

// unchanged compares the kernel and the reference with the digests of the search. A digest that is missing from the
// document, as in documents of recordings, is not compared.
func unchanged(best bestconfig.Document, p *operator.Problem, k operator.Kernel) error {
	if !strings.HasPrefix(k.Digest(), best.KernelDigest) {
		return fmt.Errorf("template %s has changed since the search: %s; %w", k.Template, withIncludes(k), ErrSearchAgain)
	}
	if best.ReferenceDigest == "" {
		return nil
	}
	digest, err := p.ReferenceDigest()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(digest, best.ReferenceDigest) {
		return fmt.Errorf("the reference has changed since the search, which compared template %s with it: %s; %w",
			k.Template, referenceFiles(p), ErrSearchAgain)
	}
	return nil
}

// referenceFiles returns the names of the files that define the reference, with which outputs of kernels are compared.
func referenceFiles(p *operator.Problem) string {
	if reference, err := p.Reference(); err == nil {
		return withIncludes(reference)
	}
	return p.Operator.Answers.String()
}

// withIncludes returns the name of a kernel's source file, for an error message; if the file includes others, the
// returned text mentions them.
func withIncludes(k operator.Kernel) string {
	if len(k.Includes) == 0 {
		return k.File
	}
	return k.File + " or a file that it includes"
}

// configuration returns the winner's configuration with its tunables in the template's order and types.
func configuration(best bestconfig.Document, op *operator.Operator) (space.Configuration, error) {
	c := space.Configuration{Template: best.Template}
	t, ok := op.Template(best.Template)
	if !ok {
		return c, fmt.Errorf("%s has no template %s any more; %w", op.Name, best.Template, ErrSearchAgain)
	}
	for _, tunable := range t.Tunables {
		given, ok := best.Get(tunable.Name)
		if !ok {
			return c, fmt.Errorf("the best configuration has no %s, which template %s needs by now; %w", tunable.Name, t.Name, ErrSearchAgain)
		}
		i := slices.IndexFunc(tunable.Values, given.Equal)
		if i < 0 {
			return c, fmt.Errorf("%s=%v is not among the values of template %s any more; %w", tunable.Name, given, t.Name, ErrSearchAgain)
		}
		c.Values = append(c.Values, space.Value{Name: tunable.Name, Value: tunable.Values[i]})
	}
	return c, nil
}

// measured sets the macros and launches of a kernel to those with which the search measured the winner. Measured values
// of macros may differ from computed values if they depend on the GPU, but both must have the same names. If the GPU
// has the same limits as the GPU of the search, the measured and the computed values of all macros must be equal.
func measured(best bestconfig.Document, k *operator.Kernel, limits operator.Limits) error {
	if len(best.Macros) == 0 {
		return nil // the document of a recording has no macros
	}
	known := best.Device.Limits == limits
	var names []string
	expressions := map[string]bool{}
	for i, m := range k.Macros {
		names = append(names, m.Name)
		now, then := m.Value, best.Macros[m.Name]
		expressions[m.Name] = !macroForm.MatchString(now) // expressions depend on no GPU
		if (known || expressions[m.Name]) && then != "" && then != now {
			return fmt.Errorf("template %s has changed since the search: %s is %s now, it was %q; %w", k.Template, m.Name, now, then, ErrSearchAgain)
		}
		if !expressions[m.Name] {
			k.Macros[i].Value = then
		}
	}
	recorded := slices.Sorted(maps.Keys(best.Macros))
	if added, gone := without(names, recorded), without(recorded, names); len(added)+len(gone) > 0 {
		var changes []string
		if len(added) > 0 {
			changes = append(changes, "it has "+strings.Join(added, " ")+" now")
		}
		if len(gone) > 0 {
			changes = append(changes, "it has no "+strings.Join(gone, " ")+" any more")
		}
		return fmt.Errorf("template %s has changed since the search: among its macros %s; %w",
			k.Template, strings.Join(changes, ", and "), ErrSearchAgain)
	}
	for _, m := range k.Macros {
		if !expressions[m.Name] && !macroForm.MatchString(m.Value) {
			return fmt.Errorf("macro %s of the best configuration is %q, which is no value: numbers and names are", m.Name, m.Value)
		}
	}
	if known && !reflect.DeepEqual(best.Launches, k.Launches) {
		return fmt.Errorf("template %s has changed since the search: it is launched with %s now, it was with %s; %w",
			k.Template, strings.Join(k.Launches.Lines(), ", then "), strings.Join(best.Launches.Lines(), ", then "), ErrSearchAgain)
	}
	k.Launches = best.Launches
	return nil
}

// without returns the elements of words that do not occur in others.
func without(words, others []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(others, word) })
}

// macroForm matches the values that templates compute for macros. A document could contain arbitrary text as the value
// of a macro, which macroForm refuses.
var macroForm = regexp.MustCompile(`^[-+\w.]+$`)

// Story returns a few lines of plain text that say what the kernel was tuned for and how fast it is. The lines that
// Story returns may contain arbitrary text from the document, so callers must quote them.
func (w Winner) Story() []string {
	b := w.Best
	story := []string{
		w.Problem.String(),
		fmt.Sprintf("Tuned on %s: %.4g ms a launch%s%s.", b.Device.Name, b.Time.Median, w.conditions(), w.comparison()),
		fmt.Sprintf("Template %s with %s.", b.Template, w.tunables()),
	}
	if kind := b.Device.Kind.Properties(); kind.Caveat != "" {
		story[1] = "Chosen on " + kind.Label + ", so not tuned for any GPU."
	}
	if faster, ok := b.FasterPyTorch(); ok {
		story = append(story, faster+", timed in turns with it in the search.")
	}
	if b.Problem.MathBy != "" {
		story = append(story, fmt.Sprintf("Math mode %s, %s.", b.Problem.Math, b.Problem.MathBy))
	}
	return append(story, "Written by "+w.Tool+".")
}

// conditions names the timing conditions of the winner, if they were not the usual ones.
func (w Winner) conditions() string {
	if unusual := w.Best.Conditions.Unusual(); unusual != "" {
		return " (" + unusual + ")"
	}
	return ""
}

func (w Winner) comparison() string {
	known, eager := w.Best.Baselines[torchtimes.Eager]
	than := "PyTorch"
	if !eager {
		known, than = w.Best.Baselines[bestconfig.Default], "the untuned default"
	}
	if known.Speedup == 0 {
		return ""
	}
	return fmt.Sprintf(", %.3g times as fast as %s", known.Speedup, than)
}

func (w Winner) tunables() string {
	words := w.Best.Values.Words()
	if len(words) == 0 {
		return "nothing to choose"
	}
	return strings.Join(words, " ")
}
