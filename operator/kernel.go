package operator

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/space"
	"autotune/space/expr"
)

type Macro struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Kernel contains everything that is needed to compile and launch one configuration.
type Kernel struct {
	Operator string
	Template string // "reference" for the reference
	File     string // of the source, for messages
	Source   string
	Includes map[string]string // name -> text, of direct and indirect includes
	Macros   []Macro           // sorted by name
	Flags    []string          // of the compiler
	Launches Launches
	// Workspaces are the template's own tensors that the launches take.
	Workspaces []Argument
	// Sizes are the members of the struct in constant memory from which the kernel reads values at run time. If Sizes
	// is empty, the kernel serves a single shape.
	Sizes   []Size
	sizesAt [2]int // where in Source their values stand
}

func (p *Problem) Kernel(c space.Configuration) (Kernel, error) {
	u, err := useAt(p, c)
	if err != nil {
		return Kernel{}, err
	}
	return u.kernel()
}

func (u use) kernel() (Kernel, error) {
	launches, err := u.launches()
	if err != nil {
		return Kernel{}, err
	}
	flags, err := u.flags()
	if err != nil {
		return Kernel{}, err
	}
	all := neighbourValues(u.p, u.t.Name, u.t.Source, u.known())
	k := kernelOf(u.p, u.t.Name, u.t.Source, all, launches)
	k.Flags = flags
	k.Workspaces = lists.Where(u.p.Arguments, func(a Argument) bool { return a.Owner != "" && launches.Name(a.Name) })
	if len(u.p.Free) > 0 {
		err = k.withSizes(u.sizesOf(all), withValues(maps.Clone(u.p.Values), all), u.p.Operator.Macros)
	}
	return k, err
}

const referenceBlock = 256

// Reference returns the operator's reference kernel, which has one thread per output element, or the default of the
// template that the operator names as its reference.
func (p *Problem) Reference() (Kernel, error) {
	if a := p.Operator.Answers; a != nil {
		return Kernel{}, p.Operator.refusal("", "there is no reference kernel: what is right is said by %s", a)
	}
	if t, ok := p.Operator.Template(p.Operator.ReferenceTemplate); ok {
		fixed := *p
		fixed.Free = nil
		k, err := fixed.Kernel(t.Default)
		if err != nil {
			return Kernel{}, fmt.Errorf("the reference, the default of template %s: %w", t.Name, err)
		}
		return k, nil
	}
	if elements := p.Output().Elements; elements > (1<<31-1)*referenceBlock {
		const form = "%s has %d output elements, too many for one launch of the reference"
		return Kernel{}, p.Operator.refusal("", form, p, elements)
	}
	return helper(p, "reference", p.Operator.referenceEntry, p.Operator.Reference, p.Output().Elements), nil
}

// neighbours returns the templates that share a file with a template or the reference, but have different kernels.
func neighbours(p *Problem, template string, source Source) []*Template {
	own, found := p.Operator.Template(template)
	return lists.Where(p.Operator.Templates, func(t *Template) bool {
		return t.Source.File == source.File && !(found && t.kernel == own.kernel)
	})
}

// neighbourValues adds the values that the other templates in the same file need to compile, from the default
// configurations of these templates.
func neighbourValues(p *Problem, template string, source Source, values space.Values) space.Values {
	for _, t := range neighbours(p, template, source) {
		u, err := useOf(p, t).at(t.Default.Values)
		if err != nil {
			continue // the template has no default here; the compiler reports missing values
		}
		for _, v := range u.known() {
			_, given := values.Get(v.Name)
			if !given && (source.alone == nil || source.alone[v.Name]) {
				values = append(values, v)
			}
		}
	}
	return values
}

func kernelOf(p *Problem, template string, s Source, values space.Values, l Launches) Kernel {
	return Kernel{
		Operator: p.Operator.Name, Template: template,
		File: s.File, Source: s.Text, Includes: s.Includes, Macros: macros(p, values), Launches: l,
	}
}

// macros returns macros for the problem's values and the given values. A parameter that the problem's name omits gets
// no macro, nor, if it is an order in memory, do values derived from it.
func macros(p *Problem, values space.Values) []Macro {
	known, orders := maps.Clone(p.Values), p.Operator.Orders()
	for _, spec := range p.Operator.Parameters {
		if spec.Type == ExpressionParameter {
			delete(known, spec.Name) // written in C++ below instead
		}
		if !p.Parameters.has(spec.Name) {
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
	all := slices.Concat(p.MathMacros(), p.ExpressionMacros())
	for name, v := range withValues(known, values) {
		if name != "math" {
			all = append(all, Macro{p.Operator.Macros.Macro(name), macroValue(v)})
		}
	}
	slices.SortFunc(all, func(a, b Macro) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

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

// flags returns the configuration's compiler flags; it omits a flag whose formula yields an empty text.
func (u use) flags() ([]string, error) {
	var flags []string
	for _, text := range u.t.Flags {
		flag, err := u.interpolate("flags", text)
		if err != nil {
			return nil, err
		}
		flags = append(flags, strings.Fields(flag)...)
	}
	return flags, nil
}

// Estimate returns the expected time of a configuration, in a unit that all templates of the operator share. Estimate
// may be called only if op.yaml has an estimate for the template.
func (p *Problem) Estimate(configuration space.Configuration) (float64, error) {
	t, _ := p.Operator.Template(configuration.Template)
	c, err := useOf(p, t).at(configuration.Values)
	if err != nil {
		return 0, err
	}
	v, err := c.value("estimate", *t.Estimate)
	if err != nil {
		return 0, err
	}
	x, number := v.AsFloat()
	if !number || math.IsNaN(x) {
		return 0, c.fault(*t.Estimate, "estimate", fmt.Errorf("it gives %v for %s, which must be a number", v, configuration))
	}
	return x, nil
}
