package operator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"autotune/operator/tree"
	"autotune/space"
	"autotune/space/expr"
)

// Macro is one definition that a kernel is compiled with.
type Macro struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Kernel is all that is needed to compile and launch one configuration.
type Kernel struct {
	Operator string
	Template string // "reference" for the reference
	File     string // of the source, for messages
	Source   string
	Includes map[string]string // name -> text: those used, and those they use
	Macros   []Macro           // sorted by name
	Flags    []string          // of the compiler
	Launches Launches
	// Workspaces are the templates' own tensors that the launches take.
	Workspaces []Argument
	// Sizes are the members of the struct in constant memory that it reads free values from; none: it is of one shape.
	Sizes   []Size
	sizesAt [2]int // where in Source their values stand
}

// configured is a template of the problem with the values of its tunables, which it checks.
func (p *Problem) configured(c space.Configuration) (at configured, values space.Values, err error) {
	t, ok := p.Operator.Template(c.Template)
	if !ok {
		hint := tree.NearestOrAll(c.Template, "there are", templateNames(p.Operator.Templates))
		return at, nil, p.Operator.refusal(hint, "there is no template `%s`", c.Template)
	}
	for _, tunable := range t.Tunables {
		v, ok := c.Get(tunable.Name)
		if !ok || !slices.Contains(tunable.Values, v) {
			hint := fmt.Sprintf("its values are %v", tunable.Values)
			return at, nil, p.Operator.refusal(hint, "configuration `%s` has no valid `%s`", c, tunable.Name)
		}
		values = append(values, space.Value{Name: tunable.Name, Value: v})
	}
	at, err = use{p, t}.at(values)
	return at, values, err
}

// Kernel is the kernel of one configuration of the problem's space.
func (p *Problem) Kernel(c space.Configuration) (Kernel, error) {
	at, values, err := p.configured(c)
	if err != nil {
		return Kernel{}, err
	}
	t := at.t
	launches, err := at.launches()
	if err != nil {
		return Kernel{}, err
	}
	flags, err := at.flags()
	if err != nil {
		return Kernel{}, err
	}
	for _, d := range t.Derived {
		values = append(values, space.Value{Name: d.Name, Value: at.env[d.Name]})
	}
	all := p.withNeighbours(t.Name, t.Source, values)
	k := p.kernel(t.Name, t.Source, all, launches)
	k.Flags, k.Workspaces = flags, ownWorkspaces(p.Arguments, launches)
	if len(p.Free) > 0 {
		err = k.withSizes(at.sizesOf(all), withValues(maps.Clone(p.Values), all), p.Operator.Macros)
	}
	return k, err
}

// referenceBlock is the threads in a block of a reference kernel.
const referenceBlock = 256

// Reference is the operator's reference kernel: one thread an output element; or the
// default of the template that it names.
func (p *Problem) Reference() (Kernel, error) {
	if a := p.Operator.Answers; a != nil {
		return Kernel{}, p.Operator.refusal("", "there is no reference kernel: what is right is said by %s", a)
	}
	if t, ok := p.Operator.Template(p.Operator.ReferenceTemplate); ok {
		k, err := p.fixed().Kernel(t.Default)
		if err != nil {
			return Kernel{}, fmt.Errorf("the reference, the default of template %s: %w", t.Name, err)
		}
		return k, nil
	}
	blocks := (p.Output().Elements + referenceBlock - 1) / referenceBlock
	if blocks > 1<<31-1 {
		return Kernel{}, p.Operator.refusal("", "%s has %d output elements, too many for one launch of the reference", p, p.Output().Elements)
	}
	launch := Launch{Entry: p.Operator.referenceEntry, Grid: [3]int64{blocks, 1, 1}, Block: [3]int64{referenceBlock, 1, 1}}
	return p.kernel("reference", p.Operator.Reference, p.withNeighbours("reference", p.Operator.Reference, nil), Launches{launch}), nil
}

// neighbours are the other templates in a template's file, or in the reference's, without those
// that have other headers.
func (p *Problem) neighbours(template string, source Source) []*Template {
	return slices.DeleteFunc(slices.Clone(p.Operator.Templates), func(t *Template) bool {
		return t.Name == template || t.Source.File != source.File || !maps.Equal(t.Source.Includes, source.Includes)
	})
}

// withNeighbours adds what the other templates in a template's file, or in the
// reference's, need to compile there: the values of their defaults, under the names
// that are not given.
func (p *Problem) withNeighbours(template string, source Source, values space.Values) space.Values {
	for _, t := range p.neighbours(template, source) {
		at, err := use{p, t}.at(t.Default.Values)
		if err != nil {
			continue // it has no default here; the compiler reports what is missing
		}
		beside := slices.Clone(t.Default.Values)
		for _, d := range t.Derived {
			beside = append(beside, space.Value{Name: d.Name, Value: at.env[d.Name]})
		}
		for _, v := range beside {
			_, given := values.Get(v.Name)
			if !given && (source.alone == nil || source.alone[v.Name]) {
				values = append(values, v)
			}
		}
	}
	return values
}

// kernel makes a kernel from a source, the problem's values and a configuration's.
func (p *Problem) kernel(template string, s Source, values space.Values, l Launches) Kernel {
	return Kernel{
		Operator: p.Operator.Name, Template: template,
		File: s.File, Source: s.Text, Includes: p.Includes(s), Macros: p.macros(values), Launches: l,
	}
}

// macros are the problem's values and the given ones. Parameters that the problem's name leaves out
// have none, and neither have values that derive from a left-out order in memory.
func (p *Problem) macros(values space.Values) []Macro {
	known, orders := maps.Clone(p.Values), p.Operator.Orders()
	for _, spec := range p.Operator.Parameters {
		if spec.Type == ExpressionParameter {
			delete(known, spec.Name) // written in C++ below
		}
		if !p.keeps(spec.Name) {
			for _, component := range spec.Names {
				delete(known, component)
			}
			for _, d := range p.Operator.Derived {
				if slices.Contains(orders, spec.Name) && slices.Contains(d.Formula.code.Names(), spec.Name) {
					delete(known, d.Name)
				}
			}
		}
	}
	var macros []Macro
	for name, v := range withValues(known, values) {
		if name != "math" {
			macros = append(macros, Macro{p.Operator.Macros.Macro(name), macroValue(v)})
		}
	}
	macros = slices.Concat(macros, p.MathMacros(), p.ExpressionMacros())
	slices.SortFunc(macros, func(a, b Macro) int { return cmp.Compare(a.Name, b.Name) })
	return macros
}

// macroValue writes a value as C++ reads it.
func macroValue(v expr.Value) string {
	switch v.Kind() {
	case expr.KindBool:
		if v.Truth() {
			return "1"
		}
		return "0"
	case expr.KindFloat:
		f, _ := v.AsFloat()
		text := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(text, ".en") {
			text += ".0"
		}
		return text
	}
	return v.String()
}

// flags are the compiler's for the configuration, without those that are empty for it.
func (c configured) flags() ([]string, error) {
	var flags []string
	for _, text := range c.t.Flags {
		flag, err := c.interpolate("flags", text)
		if err != nil {
			return nil, err
		}
		flags = append(flags, strings.Fields(flag)...)
	}
	return flags, nil
}
