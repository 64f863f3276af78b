package pytorch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/reports/cudasource"
	"autotune/space/expr"
	"autotune/tuner/operator"
)

// plan turns what op.yaml says of every problem into lines of Python: bounds of
// parameters, derived values, requirements, shapes.
func (v *view) plan(p *operator.Problem) {
	op := p.Operator
	for _, spec := range v.Parameters {
		v.Plan = append(v.Plan, bounds(spec)...)
	}
	var formulas []string
	for _, d := range op.Derived {
		v.Plan = append(v.Plan, d.Name+" = "+d.Formula.Text)
		formulas = append(formulas, d.Formula.Text)
	}
	for _, r := range op.Requires {
		v.Plan = append(v.Plan, fmt.Sprintf("need(%s, %s)", r.That.Text, formatted(r.Because.Text)))
		formulas = append(formulas, r.That.Text, r.Because.Text)
	}
	v.Sizes = sizes(p)
	output := ""
	for _, t := range op.Arguments {
		if t.Role == operator.Workspace {
			continue
		}
		var extents []string
		for _, f := range t.Shape {
			extents = append(extents, f.Text)
		}
		if t.Role == operator.Output {
			output = tuple(extents)
		} else {
			v.Shapes = append(v.Shapes, tuple(extents))
		}
	}
	v.Shapes = append(v.Shapes, output)
	all := strings.Join(append(formulas, v.Shapes...), "\n")
	v.Plan = append(v.Element.python(all), v.Plan...)
	v.MathUsed = v.MathUsed || regexp.MustCompile(`\bmath\b`).MatchString(all)
	v.calls(all)
}

// calls notes which functions formulas call that Python has not at hand.
func (v *view) calls(formulas string) {
	v.CeilDiv = v.CeilDiv || strings.Contains(formulas, "ceil_div")
	v.GCD = v.GCD || strings.Contains(formulas, "gcd(")
}

// bounds are the checks of a parameter's values.
func bounds(spec operator.ParameterSpec) []string {
	var lines []string
	check := func(name, condition, what string) {
		lines = append(lines, fmt.Sprintf("need(%s, f\"%s must be %s; it is {%s}\")", condition, name, what, name))
	}
	for _, name := range spec.Components() {
		if spec.Min != nil {
			check(name, fmt.Sprintf("%s >= %d", name, *spec.Min), fmt.Sprintf("at least %d", *spec.Min))
		}
		if spec.Max != nil {
			check(name, fmt.Sprintf("%s <= %d", name, *spec.Max), fmt.Sprintf("at most %d", *spec.Max))
		}
		if len(spec.Choices) > 0 {
			var choices []string
			for _, c := range spec.Choices {
				choices = append(choices, strconv.FormatInt(c, 10))
			}
			check(name, name+" in "+tuple(choices), "one of "+strings.Join(choices, ", "))
		}
	}
	return lines
}

func quoted(names []string) []string {
	var all []string
	for _, name := range names {
		all = append(all, `"`+name+`"`)
	}
	return all
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// formatted writes an explanation with {expressions} as an f-string.
func formatted(text string) string {
	var b strings.Builder
	last := 0
	literal := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for _, m := range placeholder.FindAllStringIndex(text, -1) {
		b.WriteString(literal.Replace(text[last:m[0]]))
		b.WriteString(strings.ReplaceAll(text[m[0]:m[1]], `"`, `'`))
		last = m[1]
	}
	b.WriteString(literal.Replace(text[last:]))
	return `f"` + b.String() + `"`
}

// tuple writes a tuple of Python.
func tuple(parts []string) string {
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// limits are the names that a template's `when` knows of a GPU, as PyTorch
// tells them; gpu is what torch.cuda.get_device_properties gives.
var limits = []struct{ name, python string }{
	{"arch", "10 * gpu.major + gpu.minor"},
	{"target", "\"sm_\" + architecture(gpu)"},
	{"sm_count", "gpu.multi_processor_count"},
	{"max_threads", "1024"},
	{"max_shared", `getattr(gpu, "shared_memory_per_block_optin", 48 << 10)`},
	{"warp_size", "32"},
}

// serves turns a template's `when` into lines of Python that end with a return.
func (v *view) serves(w cudasource.Winner) error {
	t, ok := w.Problem.Operator.Template(w.Kernel.Template)
	if !ok || t.When == nil {
		v.Serves = []string{"return True"}
		return nil
	}
	e, err := expr.Parse(t.When.Text)
	if err != nil {
		return err
	}
	for _, name := range e.Names() {
		if name == "math" {
			v.MathUsed = true
			continue
		}
		if i := slices.IndexFunc(limits, func(l struct{ name, python string }) bool { return l.name == name }); i >= 0 {
			v.Serves = append(v.Serves, name+" = "+limits[i].python)
			continue
		}
		value, ok := w.Problem.Constants(t)[name]
		if !ok {
			return fmt.Errorf("the template %s serves problems by `%s`, which a module cannot tell", t.Name, name)
		}
		v.Serves = append(v.Serves, name+" = "+value.Source())
	}
	v.calls(t.When.Text)
	v.Serves = append(v.Serves, "return bool("+t.When.Text+")")
	return nil
}
