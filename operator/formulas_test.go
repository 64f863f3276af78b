package operator

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/space"
	"autotune/space/expr"
	"autotune/templates"
)

// evaluated returns launches, workspaces and sizes that a program computes from formulas for a shape, as text.
// evaluated returns "" if the formulas say that the configuration does not serve the shape.
func evaluated(f Formulas, values map[string]expr.Value) string {
	known := maps.Clone(values)
	for _, name := range limitNames { // a program does not know those of the search
		delete(known, name)
	}
	env, ok := f.At(known)
	if !ok {
		return ""
	}
	number := func(f Formula) int64 {
		v, err := f.code.Eval(env)
		n, ok := v.AsInt()
		if err != nil || !ok {
			return -1
		}
		return n
	}
	var launches Launches
	for _, s := range f.Launches {
		if s.When != nil && number(*s.When) == 0 {
			continue
		}
		l := Launch{Entry: s.Entry.Text, SharedBytes: number(s.Shared), Arguments: s.Arguments}
		for i := range 3 {
			l.Block[i], l.Grid[i] = number(s.Block[i]), number(s.Grid[i])
			if s.Cluster != nil {
				l.Cluster[i] = number(s.Cluster[i])
			}
		}
		if l.Cluster == [3]int64{1, 1, 1} {
			l.Cluster = [3]int64{} // a cluster of one block
		}
		for _, m := range s.Maps {
			made := TensorMap{At: m.At}
			for i, word := range m.Words {
				made.Words[i] = number(word)
			}
			l.Maps = append(l.Maps, made)
		}
		l.Cooperative, l.Dependent = number(s.Cooperative) != 0, number(s.Dependent) != 0 && len(launches) > 0
		launches = append(launches, l)
	}
	text := described(launches)
	for _, w := range f.Workspaces {
		text += fmt.Sprintf("%s %d\n", w.Name, number(w.Formula))
	}
	for _, s := range f.Sizes {
		text += fmt.Sprintf("%s %s %v\n", s.Name, s.Type, env[s.Name])
	}
	return text
}

func described(launches Launches) string {
	var b strings.Builder
	for _, l := range launches {
		fmt.Fprintf(&b, "%s %v %v %v\n", l.Entry, l, l.Arguments, l.Maps)
	}
	return b.String()
}

// boundTo returns the text that the function evaluated should return for a problem bound to the shape.
func boundTo(t *testing.T, p *Problem, c space.Configuration) string {
	t.Helper()
	if !p.Admits(c) {
		return ""
	}
	k := kernelAt(t, p, c)
	text := described(k.Launches)
	for i, a := range p.Arguments {
		taken := slices.ContainsFunc(k.Launches, func(l Launch) bool { return slices.Contains(Passed(p.Arguments, l), i) })
		if a.Role == Workspace && taken {
			text += fmt.Sprintf("%s %d\n", a.Name, a.Bytes())
		}
	}
	for _, s := range k.Sizes {
		text += fmt.Sprintf("%s %s %v\n", s.Name, s.Type, s.Value)
	}
	return text
}

// keptBy returns the values that a configuration's kernel contains as constants.
func keptBy(t *testing.T, p *Problem, c space.Configuration) space.Values {
	t.Helper()
	at, err := useAt(p, c)
	must.OK(t, err)
	return at.kept()
}

// entriesStand tells whether the names of a template's kernels do not depend on dimensions.
func entriesStand(o *Operator, t *Template) bool {
	folder := use{p: &Problem{Operator: o, Values: map[string]expr.Value{}}, t: t}.folder(nil, nil)
	return !slices.ContainsFunc(t.Launches, func(s LaunchSpec) bool {
		return slices.ContainsFunc(s.Entry.formulas(), func(f Formula) bool {
			return slices.ContainsFunc(folder.Fold(f.code.Root()).Names(), func(name string) bool { return slices.Contains(o.Shape, name) })
		})
	})
}

// Evaluating a template's formulas for a shape gives the same launches and workspaces as binding the problem to the
// shape. TestFormulas treats every template as if its kernels could read all dimensions at run time.
func TestFormulas(t *testing.T) {
	served, refused, tried := 0, 0, 0
	limits := TypicalLimits()
	limits.Arch, limits.Target = 90, "sm_90a"
	for _, name := range endurance.Some(OperatorNames(), 14) {
		o, err := Load(templates.FS, name) // a copy, because the test changes its templates
		must.OK(t, err)
		random := rand.New(rand.NewPCG(1, 2))
		for _, of := range o.Templates {
			of.Free = o.Shape
		}
		p, err := o.Bind(Request{Shape: o.Example, Free: o.Shape}, limits)
		must.OK(t, err)
		shapes := shapesLike(p, random)
		for _, of := range o.Templates {
			if !entriesStand(o, of) {
				continue
			}
			tried++
			for _, c := range configurationsOf(p, of, random) {
				f, err := p.Formulas(c)
				if err != nil {
					t.Errorf("%s: %s: %v", p, c, err)
					continue
				}
				for _, q := range shapes {
					want := boundTo(t, q, c)
					if want != "" && !slices.Equal(keptBy(t, q, c), keptBy(t, p, c)) {
						want = "" // another constant requires another kernel
					}
					if got := evaluated(f, q.Values); got != want {
						t.Fatalf("%s of %s at %v: the formulas give\n%swant\n%s\n%v", c, p, q.Shape, got, want, f.Where)
					}
					if want == "" {
						refused++
					} else {
						served++
					}
				}
			}
		}
	}
	t.Logf("%d templates: %d served, %d refused", tried, served, refused)
	least := 20
	if endurance.Full() {
		least = 60
	}
	if tried < least || served < 13*least || refused < 6*least {
		t.Errorf("%d templates, %d served, %d refused: too few to prove anything", tried, served, refused)
	}
}

// shapesLike returns problems with the same parameters and other shapes.
func shapesLike(p *Problem, random *rand.Rand) []*Problem {
	all := []*Problem{p}
	for range 12 {
		r := p.Record().Request()
		r.Shape = slices.Clone(p.Shape)
		for i := range r.Shape {
			pick := []int64{1, 3, 4, 8, 30, 64, p.Shape[i], p.Shape[i], p.Shape[i] * 2, p.Shape[i] + 1, 1 << 20}
			r.Shape[i] = pick[random.IntN(len(pick))]
		}
		if q, err := p.Operator.Bind(r, p.Limits); err == nil {
			all = append(all, q)
		}
	}
	return all
}

// configurationsOf returns some configurations of a template that the problem admits.
func configurationsOf(p *Problem, of *Template, random *rand.Rand) (all []space.Configuration) {
	for range 60 {
		c := space.Configuration{Template: of.Name}
		for _, tunable := range of.Tunables {
			v := tunable.Values[random.IntN(len(tunable.Values))]
			c.Values = append(c.Values, space.Value{Name: tunable.Name, Value: v})
		}
		if len(all) < 4 && p.Admits(c) {
			all = append(all, c)
		}
	}
	if p.Admits(of.Default) {
		all = append(all, of.Default)
	}
	return all
}

// Only the extents of a launch may depend on a free (dynamic) dimension; if another property does, the error names the
// formula.
func TestFormulasOfOne(t *testing.T) {
	p := bindFree(t, []string{"n"}, 12, 5)
	f, err := p.Formulas(open(0))
	must.OK(t, err)
	if got := f.Launches[0].Grid[0].Text; got != "ceil_div(n * 5, 32)" {
		t.Errorf("the grid is %s", got)
	}
	var defined []string
	for _, d := range f.Define {
		defined = append(defined, d.Name+" = "+d.Formula.Text)
	}
	if got := strings.Join(defined, "; "); got != "span = n; wide = span * 2; inverse_of_cells = 2147483647 // max(cells, 1); inverse_of_n = 2147483647 // max(n, 1); "+
		"inverse_of_rows = 2147483647 // max(rows, 1); inverse_of_span = 2147483647 // max(span, 1)" {
		t.Errorf("it defines %s", got)
	}
	text := strings.Replace(freeOperator, "grid: [\"ceil", "cooperative: n > 4, grid: [\"ceil", 1)
	o := loaded(t, freeFiles(text))
	p, err = o.Bind(Request{Shape: []int64{12, 5}, Free: []string{"n"}}, TypicalLimits())
	must.OK(t, err)
	if _, err = p.Formulas(open(0)); err == nil || !strings.Contains(err.Error(), "it depends on free dimensions") {
		t.Errorf("a launch that is cooperative for some shapes: %v", err)
	}
}
