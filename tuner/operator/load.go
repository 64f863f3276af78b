package operator

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// Load reads the operator in a folder of fsys. Its kernels may include files of
// the same folder and of the built-in include folder.
//
// Everything that can be checked without a GPU is checked: the first fault is
// returned as an *Error.
func Load(fsys fs.FS, dir string) (o *Operator, err error) {
	return load(fsys, dir, "op.yaml", &Error{Message: "there is no such file", Hint: "an operator is a folder with an op.yaml, or one .cu file"},
		func(l *loader, text string) string { return text })
}

// LoadFile reads the operator that is a single CUDA file of a folder of fsys, whose
// first comment describes it as op.yaml would. Its kernels are in it where the
// description names no other file.
func LoadFile(fsys fs.FS, dir, name string) (o *Operator, err error) {
	return load(fsys, dir, name, &Error{Message: "there is no such file"}, func(l *loader, text string) string {
		description, kernels, ok := partFile(text)
		if !ok {
			l.failHint(Position{Line: 1, Column: 1}, "it starts with `/*` and `operator: NAME`", "the file begins with no comment that describes an operator")
		}
		l.own = &Source{File: name, Text: kernels}
		return description
	})
}

// load reads an operator from a file, from the part of its text that describes it.
func load(fsys fs.FS, dir, name string, missing *Error, part func(l *loader, text string) string) (o *Operator, err error) {
	defer catch[*Error](&err)
	file := path.Join(dir, name)
	l := &loader{
		lets: map[string]let{}, merged: map[ast.Node]ast.Node{}, lists: map[ast.Node]bool{}, with: map[ast.Node]ast.Node{},
		document: document{file: file, what: "an operator's description", empty: "it starts with `operator: NAME`", second: "one " + name + " describes one operator"},
		fsys:     fsys, dir: dir, o: &Operator{File: file, files: map[string]string{}},
	}
	l.document.whole, l.document.spliced = l.whole, l.spliced
	text, err := l.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		missing.File = file
		return nil, missing
	}
	if err != nil {
		return nil, &Error{File: file, Message: "the file " + err.Error()}
	}
	l.operator(l.parse(part(l, text)))
	l.checkExample()
	return l.o, nil
}

// loader fills in an operator from its folder. Its methods panic with an *Error
// at the first fault, which Load returns.
type loader struct {
	document
	fsys fs.FS
	dir  string
	o    *Operator
	own  *Source // the kernels of an operator that is one file; nil: it is a folder

	along    []string              // what `$` stands for; nil: nothing
	within   int                   // how many functions over axes are being spelled out
	lets     map[string]let        // what `let` names
	merged   map[ast.Node]ast.Node // mappings with what they include
	lists    map[ast.Node]bool     // items of lists
	with     map[ast.Node]ast.Node // what the items of a file are read with
	mappings []ast.Node            // the templates read so far
	taken    int                   // how many values templates have from those that they include

	referenceAt ast.Node // the name of the template whose default is the reference; nil: none is
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
