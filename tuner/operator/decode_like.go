package operator

import (
	"cmp"
	"path"

	"github.com/goccy/go-yaml/ast"
)

// A template that includes an earlier one is the same kernel of other tunables, and of other
// `headers`: files in place of those that the source includes.

// likeAnother gives a template what it has from the one that it includes beside keys: the kernel's
// name, workspaces, and values that a file's templates are read with.
func (l *loader) likeAnother(t *Template, n ast.Node, s scope) {
	pair := l.including(n)
	if pair == nil {
		return
	}
	model, ok := l.o.Template(l.text(pair.Value))
	if !ok {
		return // it includes a file
	}
	t.like = model
	launches := false
	for _, own := range pairsOf(n) {
		switch key, _, _ := scalar(own.Key); key {
		case "derived":
			l.sameWorkspaces(model, l.named(own.Value, derivedForm))
		case "launch", "launches":
			launches = true
		}
	}
	if !launches {
		t.kernel = model.kernel
	}
	for _, d := range model.With {
		if s[d.Name] == "" { // of another file's templates
			l.declare(s, at(pair.Value), d.Name, "value")
			t.With = append(t.With, d)
		}
	}
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
