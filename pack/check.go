package pack

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/space/expr"
)

var (
	parameterTypes = []string{"int", "bool", "float", "word"}
	roles          = []string{"input", "weight", "output", "inout"}
)

var targetForm = regexp.MustCompile(`^sm_([0-9]{2,3})([a-z]?)$`)

// fault holds the first reason found why no loader could use the pack, or nil.
type fault struct{ error }

// need records a fault if a condition does not hold, and reports whether no fault was found so far.
func (f *fault) need(holds bool, format string, args ...any) bool {
	if !holds && f.error == nil {
		f.error = fmt.Errorf(format, args...)
	}
	return f.error == nil
}

// within records the fault of a part of the manifest, with a text that says which part it is.
func (f *fault) within(err error, format string, args ...any) {
	if err != nil {
		f.need(false, format+": %w", append(args, err)...)
	}
}

// check looks for faults because of which no loader could use the pack. Names in formulas are not checked: a formula
// with an unknown name cannot be computed, so its kernel serves no problem.
func (m *Manifest) check() error {
	var f fault
	total, seen := int64(0), map[string]string{}
	for name, file := range sorted(m.Files) {
		key := strings.ToLower(name)
		total += file.Bytes
		f.need(isPath(name) && key != ManifestFile, "the path %.80q leaves the pack, or is no plain one", name)
		f.need(seen[key] == "", "%s and %s are one file where case does not count", seen[key], name)
		f.need(file.Bytes >= 0 && file.Bytes <= mostFileBytes && total <= mostBytes,
			"%s would have %d bytes; a file may have %d, all together %d", name, file.Bytes, mostFileBytes, int64(mostBytes))
		seen[key] = name
	}
	hasNull := slices.Contains(m.Operators, nil) || slices.Contains(m.Entries, nil) ||
		slices.Contains(m.Families, nil) || slices.Contains(m.General, nil)
	f.need(quote.IsName(m.Name) && len(m.Files) <= mostFiles,
		"it is called %.80q and has %d files; a name is one of C, and files are %d at most", m.Name, len(m.Files), mostFiles)
	for name, bytes := range sorted(m.Types) {
		f.need(quote.IsName(name) && bytes >= 1 && bytes <= mostElement,
			"an element of the type %.80q has %d bytes; it may have 1 to %d", name, bytes, mostElement)
	}
	if !f.need(!hasNull, "null stands where an operator or a kernel belongs") {
		return f.error
	}
	for _, o := range m.Operators {
		f.within(m.checkOperator(o), "operator %.80q", o.Name)
	}
	for i, e := range m.Entries {
		f.within(m.of(e.Operator, func(o *Operator) error { return m.checkEntry(o, e) }), "entry %d, %.80q", i+1, e.Problem)
	}
	for i, of := range m.Families {
		err := m.of(of.Operator, func(o *Operator) error { return m.checkFamily(o, of) })
		f.within(err, "family %d, %.80q", i+1, of.Problem)
	}
	for i, g := range m.General {
		f.within(m.of(g.Operator, func(o *Operator) error { return m.checkGeneral(o, g) }), "general kernel %d", i+1)
	}
	return f.error
}

// of passes the operator of the given name to check, or returns an error if the pack does not describe the operator.
func (m *Manifest) of(name string, check func(*Operator) error) error {
	if o := m.operator(name); o != nil {
		return check(o)
	}
	return fmt.Errorf("it is of the operator %.80q, which the pack does not describe", name)
}

func (m *Manifest) checkOperator(o *Operator) error {
	var f fault
	names := append(o.names(), o.Name)
	for i, name := range names {
		f.need(quote.IsName(name), "%.80q is no name", name)
		f.need(i == len(names)-1 || !slices.Contains(names[:i], name), "there are two values of the name %s", name)
	}
	f.need(m.operator(o.Name) == o, "there are two of that name")
	for i, mode := range o.Math {
		f.need(quote.IsName(mode) && !slices.Contains(o.Math[:i], mode),
			"its math modes are %.200q; each is a name, and none is there twice", o.Math)
	}
	return cmp.Or(f.error, o.checkParameters(), m.checkTensors(o), different("tensors", o.Taken()))
}

// different returns an error if a name occurs twice, since loaders could disagree about which thing it means.
func different(what string, names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("two of its %s are called %.80q", what, name)
		}
	}
	return nil
}

func (o *Operator) checkParameters() error {
	var f fault
	for _, s := range o.Parameters {
		f.need(quote.IsName(s.Name), "%.80q is no name", s.Name)
		f.need(slices.Contains(parameterTypes, s.Type), "the parameter %s is of the type %.80q; it may be int, bool, float or word",
			s.Name, s.Type)
		f.need(isNumber(s.Min) && isNumber(s.Max), "the parameter %s has bounds that are no numbers", s.Name)
		f.within(different("words", s.Words), "the parameter %s", s.Name)
	}
	return cmp.Or(f.error, different("parameters", lists.Of(o.Parameters, func(s Parameter) string { return s.Name })))
}

// isNumber reports whether a bound is absent or a finite number.
func isNumber(v *expr.Value) bool {
	if v == nil {
		return true
	}
	x, ok := v.AsFloat()
	return ok && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// words returns the words that a component of a word parameter may be. ok is false if no word parameter has a
// component of that name.
func (o *Operator) words(component string) (words []string, ok bool) {
	for _, s := range o.Parameters {
		if s.Type == "word" && slices.ContainsFunc(s.Components, func(c Component) bool { return c.Name == component }) {
			return s.Words, true
		}
	}
	return nil, false
}

func (m *Manifest) checkTensors(o *Operator) error {
	var f fault
	for _, t := range o.Tensors {
		types, byWord := o.words(t.TypeBy)
		if t.TypeBy == "" {
			types, byWord = []string{t.Type}, true
		}
		_, ordered := o.words(t.OrderBy)
		lacking := slices.ContainsFunc(types, func(name string) bool { return m.Types[name] == 0 })
		f.need(slices.Contains(roles, t.Role), "the tensor %.80q has the role %.80q; it may be input, weight, output or inout",
			t.Name, t.Role)
		f.need(quote.IsName(t.Name) && byWord && !lacking, "the tensor %.80q has the type %.80q, which `types` lacks", t.Name, cmp.Or(t.TypeBy, t.Type))
		f.need(t.OrderBy == "" || ordered,
			"the tensor %.80q has the order that %.80q names, which is no parameter of words", t.Name, t.OrderBy)
	}
	return f.error
}

// checkValues returns an error for a dimension that is not a positive integer, for a word that its parameter does not
// have, and for an unknown math mode.
func (o *Operator) checkValues(values map[string]expr.Value, mode string, shape, whole bool) error {
	var f fault
	for _, name := range o.Shape {
		n, isInt := values[name].AsInt()
		f.need(!shape || isInt && n >= 1, "its dimension %s is %.80q", name, values[name])
	}
	for _, s := range o.Parameters {
		for _, c := range s.Components {
			v, given := values[c.Name]
			f.need(given || !whole, "it does not say what %s is", c.Name)
			f.need(!given || s.Type != "word" || slices.Contains(s.Words, v.String()),
				"%s is %.80q, which is not among its words", c.Name, v)
		}
	}
	f.need(slices.Contains(o.Math, mode), "it is in the math mode %.80q, which the operator has not", mode)
	return f.error
}

func (m *Manifest) checkGeneral(o *Operator, g *General) error {
	var f fault
	for _, name := range g.Sizes {
		f.need(slices.Contains(o.names(), name), "it takes %.80q, which nothing defines", name)
	}
	for _, name := range g.Arguments {
		f.need(slices.Contains(o.Taken(), name), "it takes %.80q, which is no tensor", name)
	}
	f.need(m.Types[g.Type] != 0, "it is of the type %.80q, which `types` lacks", g.Type)
	return cmp.Or(f.error, m.checkFile(g.File), o.checkValues(g.Values, g.Math, false, false), different("sizes", g.Sizes), different("arguments", g.Arguments))
}

func (m *Manifest) checkFile(file string) error {
	if _, listed := m.Files[file]; !listed {
		return fmt.Errorf("its file %.80q is not among the pack's files", file)
	}
	return nil
}

func (m *Manifest) checkEntry(o *Operator, e *Entry) error {
	var f fault
	f.need(targetForm.MatchString(e.Target), "%.40q is no architecture, as sm_90a", e.Target)
	f.need(len(e.Launches) > 0, "it launches nothing")
	within := func(least, most int64, numbers ...int64) {
		for _, n := range numbers {
			f.need(n >= least && n <= most, "it is launched with the number %d, where %d is the least and %d the most", n, least, most)
		}
	}
	for _, l := range e.Launches {
		within(1, mostGrid, l.Grid[:]...)
		within(1, mostBlock, l.Block[:]...)
		within(0, mostShared, l.SharedBytes)
		if l.Cluster != [3]int64{} {
			within(1, mostCluster, l.Cluster[:]...)
		}
	}
	for _, w := range e.Workspaces {
		within(0, mostWorkspace, w.Value)
	}
	return cmp.Or(f.error, checkCode(m, o, &e.Code), o.checkValues(e.Values, e.Math, true, true))
}

// checkCode returns an error if the code's file is not in the pack, or if no loader could make its launches.
func checkCode[N comparable](m *Manifest, o *Operator, c *Code[N]) error {
	f := fault{m.checkFile(c.File)}
	nameOf := func(n Named[N]) string { return n.Name }
	addresses := append(o.Taken(), lists.Of(c.Workspaces, nameOf)...)
	names := append(slices.Clip(addresses), lists.Of(c.Scalars, nameOf)...)
	var taken []string
	for _, l := range c.Launches {
		for _, name := range l.Arguments {
			f.need(slices.Contains(names, name), "a launch takes %.80q, which is no tensor, workspace or scalar", name)
		}
		for i, t := range l.Maps {
			twice := slices.ContainsFunc(l.Maps[:i], func(other TensorMap[N]) bool { return other.At == t.At })
			if !f.need(t.At >= 0 && t.At < len(l.Arguments) && !twice,
				"a launch has %d arguments and a tensor map at %d; each argument may have one map", len(l.Arguments), t.At) {
				break
			}
			of := l.Arguments[t.At]
			f.need(slices.Contains(addresses, of), "%.80q is passed as a tensor map, and is no tensor or workspace", of)
			f.need(len(t.Words) == manifestMapWords, "the tensor map of %.80q has %d words; it should have %d", of, len(t.Words), manifestMapWords)
		}
		taken = append(taken, l.Arguments...)
	}
	for _, t := range o.Tensors {
		f.need(t.Role != "output" || slices.Contains(taken, t.Name), "no launch takes the output %.80q", t.Name)
	}
	return cmp.Or(f.error, different("tensors, workspaces and scalars", names))
}

// mostVariants limits the number of variants in a family, and mostDepth the depth of the family's tree.
const (
	mostVariants = 256
	mostDepth    = 16 // the depth of a tree
)

func (m *Manifest) checkFamily(o *Operator, of *Family) error {
	var f fault
	f.need(targetForm.MatchString(of.Target), "%.40q is no architecture, as sm_90a", of.Target)
	f.need(len(of.Variants) <= mostVariants && !slices.Contains(of.Variants, nil),
		"it has %d entries, or null stands for one; %d are the most", len(of.Variants), mostVariants)
	if !f.need(len(of.Range) == len(o.Shape),
		"its range has %d dimensions, and the operator %d", len(of.Range), len(o.Shape)) {
		return f.error
	}
	for i, spans := range of.Range {
		for _, s := range spans {
			f.need(s[0] >= 1 && s[0] <= s[1], "its range of %s has %d to %d", o.Shape[i], s[0], s[1])
		}
	}
	f.within(o.checkValues(of.Values, of.Math, false, true), "its values")
	for i, v := range of.Variants {
		f.within(m.checkVariant(o, v), "its entry %d", i)
	}
	return cmp.Or(f.error, of.Tree.check(len(of.Variants), 0))
}

func (n *Node) check(variants, depth int) error {
	var f fault
	switch {
	case !f.need(n != nil && depth <= mostDepth, "its tree lacks a branch, or is too deep"):
	case n.If != nil:
		return cmp.Or(n.Then.check(variants, depth+1), n.Else.check(variants, depth+1))
	default:
		for _, e := range n.Entries {
			f.need(e >= 0 && e < variants, "its tree names the entry %d of %d", e, variants)
		}
	}
	return f.error
}

func (m *Manifest) checkVariant(o *Operator, v *Variant) error {
	var f fault
	names := o.names()
	for _, d := range v.Define {
		f.need(quote.IsName(d.Name), "%.80q is no name", d.Name)
		names = append(names, d.Name)
	}
	for _, name := range v.Sizes.Names {
		f.need(slices.Contains(names, name), "it reads %.80q, which nothing defines", name)
	}
	bytes := m.Files[v.File].Bytes
	err := cmp.Or(f.error, different("names", names), checkCode(m, o, &v.Code))
	if err == nil && (v.Sizes.At < 0 || v.Sizes.At > bytes-4*int64(len(v.Sizes.Names))) {
		err = fmt.Errorf("its %d sizes at %d are not within the %d bytes of %s", len(v.Sizes.Names), v.Sizes.At, bytes, v.File)
	}
	return err
}
