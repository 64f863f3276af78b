package pack

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/space/expr"
)

var targetForm = regexp.MustCompile(`^sm_([0-9]{2,3})([a-z]?)$`)

// check looks for what no loader could use. Operators' formulas are parsed already.
func (m *Manifest) check() error {
	total, seen := int64(0), map[string]string{}
	for name, file := range sorted(m.Files) {
		key := strings.ToLower(name)
		switch total += file.Bytes; {
		case !isPath(name) || key == ManifestFile:
			return fmt.Errorf("the path %.80q leaves the pack, or is no plain one", name)
		case seen[key] != "":
			return fmt.Errorf("%s and %s are one file where case does not count", seen[key], name)
		case file.Bytes < 0 || file.Bytes > mostFileBytes || total > mostBytes:
			return fmt.Errorf("%s would have %d bytes; a file may have %d, all together %d", name, file.Bytes, mostFileBytes, int64(mostBytes))
		}
		seen[key] = name
	}
	if slices.Contains(m.Operators, nil) || slices.Contains(m.Entries, nil) || slices.Contains(m.Families, nil) || slices.Contains(m.General, nil) {
		return errors.New("null stands where an operator or a kernel belongs")
	}
	if !quote.IsName(m.Name) || len(m.Files) > mostFiles {
		return fmt.Errorf("it is called %.80q and has %d files; a name is one of C, and files are %d at most", m.Name, len(m.Files), mostFiles)
	}
	for name, bytes := range sorted(m.Types) {
		if !quote.IsName(name) || bytes < 1 || bytes > mostElement {
			return fmt.Errorf("an element of the type %.80q has %d bytes; it may have 1 to %d", name, bytes, mostElement)
		}
	}
	for _, o := range m.Operators {
		if err := m.checkOperator(o); err != nil {
			return fmt.Errorf("operator %.80q: %w", o.Name, err)
		}
	}
	for i, e := range m.Entries {
		if err := m.checkEntry(e); err != nil {
			return fmt.Errorf("entry %d, %.80q: %w", i+1, e.Problem, err)
		}
	}
	for i, f := range m.Families {
		if err := m.checkFamily(f); err != nil {
			return fmt.Errorf("family %d, %.80q: %w", i+1, f.Problem, err)
		}
	}
	for i, g := range m.General {
		if err := m.checkGeneral(g); err != nil {
			return fmt.Errorf("general kernel %d: %w", i+1, err)
		}
	}
	return nil
}

func (m *Manifest) checkOperator(o *Operator) error {
	for i, name := range append(o.names(), o.Name) {
		if !quote.IsName(name) {
			return fmt.Errorf("%.80q is no name", name)
		}
		if i < len(o.names()) && slices.Contains(o.names()[:i], name) {
			return fmt.Errorf("there are two values of the name %s", name)
		}
	}
	if m.operator(o.Name) != o {
		return errors.New("there are two of that name")
	}
	for i, mode := range o.Math {
		if !quote.IsName(mode) || slices.Contains(o.Math[:i], mode) {
			return fmt.Errorf("its math modes are %.200q; each is a name, and none is there twice", o.Math)
		}
	}
	return cmp.Or(o.checkParameters(), o.checkFormulas(), m.checkTensors(o), different("tensors", o.Taken()))
}

// different refuses two things of one name: loaders would not agree which is meant.
func different(what string, names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("two of its %s are called %.80q", what, name)
		}
	}
	return nil
}

func (o *Operator) checkParameters() error {
	for _, s := range o.Parameters {
		_, least := number(s.Min)
		_, most := number(s.Max)
		switch {
		case !quote.IsName(s.Name):
			return fmt.Errorf("%.80q is no name", s.Name)
		case !slices.Contains([]string{"int", "bool", "float", "word"}, s.Type):
			return fmt.Errorf("the parameter %s is of the type %.80q; it may be int, bool, float or word", s.Name, s.Type)
		case !least, !most:
			return fmt.Errorf("the parameter %s has bounds that are no numbers", s.Name)
		case s.Type == "word" && different("words", s.Words) != nil:
			return fmt.Errorf("the parameter %s: %w", s.Name, different("words", s.Words))
		}
	}
	return different("parameters", lists.Of(o.Parameters, func(s Parameter) string { return s.Name }))
}

// number is a bound's value; ok without one.
func number(v *expr.Value) (x float64, ok bool) {
	if v == nil {
		return 0, true
	}
	x, ok = v.AsFloat()
	return x, ok && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// checkFormulas refuses a formula that names what has no value yet when it is computed.
func (o *Operator) checkFormulas() error {
	names := append(slices.Clone(o.Shape), "arch")
	for _, s := range o.Parameters {
		for _, c := range s.Components {
			if c.Default.Expr != nil {
				if err := known(names, c.Default); err != nil {
					return fmt.Errorf("the default of %s: %w", c.Name, err)
				}
			}
			names = append(names, c.Name)
		}
	}
	if err := known(names, o.MathAuto); err != nil {
		return fmt.Errorf("the math mode: %w", err)
	}
	names = append(names, "math")
	for _, d := range o.Derived {
		if err := known(names, d.Value); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		names = append(names, d.Name)
	}
	for _, r := range o.Requires {
		if err := known(names, r.That); err != nil {
			return fmt.Errorf("a requirement: %w", err)
		}
	}
	for _, t := range o.Tensors {
		if err := known(names, t.Shape...); err != nil {
			return fmt.Errorf("the tensor %.80q: %w", t.Name, err)
		}
	}
	return nil
}

// words are those that a component of a parameter of words may be; not ok for another name.
func (o *Operator) words(component string) (words []string, ok bool) {
	for _, s := range o.Parameters {
		if s.Type == "word" && slices.ContainsFunc(s.Components, func(c Component) bool { return c.Name == component }) {
			return s.Words, true
		}
	}
	return nil, false
}

func (m *Manifest) checkTensors(o *Operator) error {
	for _, t := range o.Tensors {
		types, byWord := o.words(t.TypeBy)
		if t.TypeBy == "" {
			types, byWord = []string{t.Type}, true
		}
		_, ordered := o.words(t.OrderBy)
		lacking := slices.ContainsFunc(types, func(name string) bool { return m.Types[name] == 0 })
		switch {
		case !slices.Contains([]string{"input", "weight", "output", "inout"}, t.Role):
			return fmt.Errorf("the tensor %.80q has the role %.80q; it may be input, weight, output or inout", t.Name, t.Role)
		case !quote.IsName(t.Name), !byWord, lacking:
			return fmt.Errorf("the tensor %.80q has the type %.80q, which `types` lacks", t.Name, cmp.Or(t.TypeBy, t.Type))
		case t.OrderBy != "" && !ordered:
			return fmt.Errorf("the tensor %.80q has the order that %.80q names, which is no parameter of words", t.Name, t.OrderBy)
		case t.Symbol == "":
			continue
		case !quote.IsName(t.Symbol) || t.Role != "input" && t.Role != "weight":
			return fmt.Errorf("%s %.80q cannot be in constant memory as %.80q: that holds what is read, under a name of C",
				t.Role, t.Name, t.Symbol)
		}
	}
	return nil
}

// checkValues refuses what is no value of a problem: numbers of dimensions, and what parameters may be.
func (o *Operator) checkValues(values map[string]expr.Value, shape, whole bool) error {
	if shape {
		for _, name := range o.Shape {
			if n, isInt := values[name].AsInt(); !isInt || n < 1 {
				return fmt.Errorf("its dimension %s is %.80q", name, values[name])
			}
		}
	}
	for _, s := range o.Parameters {
		for _, c := range s.Components {
			v, told := values[c.Name]
			if !told && !whole {
				continue
			}
			if !told {
				return fmt.Errorf("it does not say what %s is", c.Name)
			}
			if err := s.admits(v); err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
		}
	}
	return nil
}

// checkMode refuses a math mode that the operator has not.
func (o *Operator) checkMode(mode string) error {
	if !slices.Contains(o.Math, mode) {
		return fmt.Errorf("it is in the math mode %.80q, which the operator has not", mode)
	}
	return nil
}

func (m *Manifest) checkGeneral(g *General) error {
	o := m.operator(g.Operator)
	if o == nil {
		return unknownOperator(g.Operator)
	}
	for _, name := range g.Sizes {
		if !slices.Contains(o.names(), name) {
			return fmt.Errorf("it takes %.80q, which nothing defines", name)
		}
	}
	if m.Types[g.Type] == 0 {
		return fmt.Errorf("it is of the type %.80q, which `types` lacks", g.Type)
	}
	return cmp.Or(m.checkFile(g.File), o.checkMode(g.Math), o.checkValues(g.Values, false, false), different("sizes", g.Sizes))
}

func unknownOperator(name string) error {
	return fmt.Errorf("it is of the operator %.80q, which the pack does not describe", name)
}

func (m *Manifest) checkFile(file string) error {
	if _, listed := m.Files[file]; !listed {
		return fmt.Errorf("its file %.80q is not among the pack's files", file)
	}
	return nil
}

func (m *Manifest) checkEntry(e *Entry) error {
	o := m.operator(e.Operator)
	switch {
	case o == nil:
		return unknownOperator(e.Operator)
	case !targetForm.MatchString(e.Target):
		return fmt.Errorf("%.40q is no architecture, as sm_90a", e.Target)
	case len(e.Launches) == 0:
		return errors.New("it launches nothing")
	}
	within := func(what string, least, most int64, numbers ...int64) error {
		for _, n := range numbers {
			if n < least || n > most {
				return fmt.Errorf("its %s is %v; %d is the least and %d the most", what, numbers, least, most)
			}
		}
		return nil
	}
	return cmp.Or(checkCode(m, o, &e.Code, within), o.checkMode(e.Math), o.checkValues(e.Values, true, true))
}

// checkCode refuses a file that is not among the pack's, and launches that no loader could make. check refuses numbers.
func checkCode[N comparable](m *Manifest, o *Operator, c *Code[N], check func(what string, least, most int64, numbers ...N) error) error {
	known, taken := o.Taken(), []string{}
	for _, w := range c.Workspaces {
		if err := check("workspace", 0, mostWorkspace, w.Value); err != nil {
			return err
		}
		known = append(known, w.Name)
	}
	addresses := len(known)
	for _, s := range c.Scalars {
		if err := check("scalar", math.MinInt64, math.MaxInt64, s.Value); err != nil {
			return err
		}
		known = append(known, s.Name)
	}
	for _, l := range c.Launches {
		err := cmp.Or(check("grid", 1, mostGrid, l.Grid[:]...), check("block", 1, mostBlock, l.Block[:]...), check("shared memory", 0, mostShared, l.SharedBytes))
		if l.Cluster != [3]N{} {
			err = cmp.Or(err, check("cluster", 1, mostCluster, l.Cluster[:]...))
		}
		for _, t := range l.Maps {
			err = cmp.Or(err, check("tensor map", math.MinInt64, math.MaxInt64, t.Words...))
		}
		err = cmp.Or(err, takes(known, l.Arguments), checkMaps(l, known[:addresses]))
		if err != nil {
			return err
		}
		taken = append(taken, l.Arguments...)
	}
	return cmp.Or(m.checkFile(c.File), o.written(taken), different("tensors, workspaces and scalars", known))
}

// written refuses launches that together leave an output as it is.
func (o *Operator) written(taken []string) error {
	for _, t := range o.Tensors {
		if t.Role == "output" && !slices.Contains(taken, t.Name) {
			return fmt.Errorf("no launch takes the output %.80q", t.Name)
		}
	}
	return nil
}

// takes refuses a launch's arguments that are unknown.
func takes(known, arguments []string) error {
	for _, name := range arguments {
		if !slices.Contains(known, name) {
			return fmt.Errorf("a launch takes %.80q, which is no tensor, workspace or scalar", name)
		}
	}
	return nil
}

// checkMaps refuses tensor maps that a launch cannot pass. Only what has an address can be passed as one.
func checkMaps[N comparable](l LaunchOf[N], addresses []string) error {
	for i, m := range l.Maps {
		twice := slices.ContainsFunc(l.Maps[:i], func(other TensorMap[N]) bool { return other.At == m.At })
		switch {
		case m.At < 0 || m.At >= len(l.Arguments) || twice:
			return fmt.Errorf("a launch has %d arguments and a tensor map at %d; each argument may have one map", len(l.Arguments), m.At)
		case !slices.Contains(addresses, l.Arguments[m.At]):
			return fmt.Errorf("%.80q is passed as a tensor map, and is no tensor or workspace", l.Arguments[m.At])
		case len(m.Words) != manifestMapWords:
			return fmt.Errorf("the tensor map of %.80q has %d words; it should have %d", l.Arguments[m.At], len(m.Words), manifestMapWords)
		}
	}
	return nil
}
