package operator

import (
	"errors"
	"io/fs"
	"maps"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"autotune/templates"
)

// Operators that differ in little may have templates in common: an item of `templates` names
// the file that has a list of them, and gives values to the names that they know and the
// operator has not.

var listForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*\.yaml$`)

// isShared tells whether an item of a list of templates names a file.
func (l *loader) isShared(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return slices.ContainsFunc(l.entries(n, "a template must be a mapping"), func(e entry) bool { return e.key == "from" })
	}
	return false
}

// sharedTemplates reads the templates of a file over the names of problem and device, and of `with`.
func (l *loader) sharedTemplates(n ast.Node, s scope) {
	f := l.fields(n, "an item for a file's templates", "from*", "with")
	name := l.text(f["from"])
	if !listForm.MatchString(name) {
		l.refuse(f["from"], "this must name a file with a list of templates, in the operator's folder or a shared one, as convolution.yaml")
	}
	with := l.definitions(l.named(f["with"], "with must be a mapping of names to expressions"), s)
	text, from, err := l.include(name)
	if errors.Is(err, fs.ErrNotExist) {
		l.failHint(at(f["from"]), nearestOrAll(name, "shared are", fileNames(templates.FS, "include/*.yaml")), "there is no file `%s` of templates, in the operator's folder or shared", name)
	}
	if err != nil {
		l.fail(at(f["from"]), "the file `%s` %v", name, err)
	}
	operator := l.document
	defer func() { l.document = operator }()
	l.document = document{file: from, what: "a list of templates", empty: "it is a list of templates", second: "one file has one list"}
	root := l.parse(text)
	for _, item := range l.items(root, "a file of templates") {
		l.o.Templates = append(l.o.Templates, l.template(item, maps.Clone(s), with))
	}
}

// kept is a place that is told of later, when another file may be read.
func (l *loader) kept(where Position) Position {
	if l.document.file != l.o.File {
		where.File = l.document.file
	}
	return where
}
