package operator

import (
	"cmp"
	"path"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// One kernel may serve as two templates: the second is `like` the first, has what it does
// not say itself from there, and its `headers` exchange what the source includes.

// plan is what is written of a template, with what it has from the one that it is like.
type plan struct {
	template    *Template
	kernel      string // the name that the entry point has unless another is given
	given       map[string]ast.Node
	derived     []entry
	constraints []ast.Node
}

// plan reads a template's plan from its keys, and remembers it.
func (l *loader) plan(t *Template, f map[string]ast.Node, s scope) *plan {
	p := &plan{template: t, kernel: l.kernelName(f["source"], l.o.Name+"_"+t.Name), given: f}
	p.derived = l.named(f["derived"], derivedForm)
	p.constraints = l.items(f["constraints"], "constraints")
	if f["like"] != nil {
		name := l.oneOf(f["like"], "earlier template", templateNames(l.o.Templates)...)
		model := l.plans[slices.IndexFunc(l.plans, func(p *plan) bool { return p.template.Name == name })]
		if l.taken += model.size() + len(l.o.Arguments); l.taken > mostMarks {
			l.fail(at(f["like"]), "what templates have from those that they are like is more than %d values", mostMarks)
		}
		l.sameWorkspaces(model.template, p.derived)
		p.takeOver(model)
		for _, d := range model.template.With {
			if s[d.Name] == "" { // of another file's templates
				l.declare(s, at(f["like"]), d.Name, "value")
				t.With = append(t.With, d)
			}
		}
	}
	l.plans = append(l.plans, p)
	return p
}

// takeOver adds what a template has from the one that it is like: keys and derived values
// that it does not give itself, workspaces, and constraints beside its own.
func (p *plan) takeOver(model *plan) {
	p.template.like = model.template
	keys := []string{"source", "headers", "when", "flags", "estimate"}
	if p.given["launch"] == nil && p.given["launches"] == nil {
		keys = append(keys, "entry", "launch", "launches")
		p.kernel = model.kernel
	}
	for _, key := range keys {
		p.given[key] = cmp.Or(p.given[key], model.given[key])
	}
	for _, e := range model.derived {
		if !slices.ContainsFunc(p.derived, func(own entry) bool { return own.key == e.key }) {
			p.derived = append(p.derived, e)
		}
	}
	p.constraints = slices.Concat(model.constraints, p.constraints)
}

// size is how many values another template would have from this plan.
func (p *plan) size() int {
	var n count
	for _, key := range sorted(p.given) {
		if p.given[key] != nil {
			ast.Walk(&n, p.given[key])
		}
	}
	for _, e := range p.derived {
		ast.Walk(&n, e.value)
	}
	for _, c := range p.constraints {
		ast.Walk(&n, c)
	}
	return int(n)
}

// count counts nodes.
type count int

func (n *count) Visit(ast.Node) ast.Visitor {
	*n++
	return n
}

// sameWorkspaces sees that derived values leave the workspaces of the template that another
// is like as they are: they are the same ones.
func (l *loader) sameWorkspaces(model *Template, own []entry) {
	needed := map[string]bool{}
	need := func(f Formula) {
		for _, name := range f.code.Names() {
			needed[name] = true
		}
	}
	for _, a := range l.o.Arguments {
		if a.Owner != nil && model.has(a.Owner) {
			for _, f := range a.Shape {
				need(f)
			}
		}
	}
	for i := len(model.Derived) - 1; i >= 0; i-- { // each after those that it names
		if d := model.Derived[i]; needed[d.Name] {
			need(d.Formula)
		}
	}
	for _, e := range own {
		if needed[e.key] {
			l.fail(e.Position, "the shapes of workspaces that are template `%s`'s too depend on `%s`", model.Name, e.key)
		}
	}
}

// has tells whether a template's workspaces are this one's too: its own, or those of one
// that it is like.
func (t *Template) has(owner *Template) bool {
	return t == owner || t.like != nil && t.like.has(owner)
}

// exchange gives a source that finds other files under some of the names that it, or what it
// includes, includes.
func (l *loader) exchange(n ast.Node, s Source) Source {
	files := map[string]string{}
	for _, e := range l.entries(n, headersForm) {
		if _, used := s.Includes[e.key]; !used {
			l.failHint(e.Position, nearestOrAll(e.key, "it includes", sorted(s.Includes)), "`%s` does not include `%s`", s.File, e.key)
		}
		files[e.key] = l.text(e.value)
		l.shared(e.value, files[e.key]) // which says where it is named that there is no such file
	}
	s.Includes, s.Headers = map[string]string{}, files
	l.includes(path.Join(l.dir, s.File), s.Text, s.Includes, func(name string) (text, from string, err error) {
		return l.include(cmp.Or(files[name], name))
	})
	return s
}
