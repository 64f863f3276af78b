package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// Load reads the operator in a folder of fsys. Its kernels may include files of
// the same folder and of the built-in include folder.
//
// Everything that can be checked without a GPU is checked: the first fault is
// returned as an *Error.
func Load(fsys fs.FS, dir string) (o *Operator, err error) {
	defer catch[*Error](&err)
	l := &loader{fsys: fsys, dir: dir, o: &Operator{File: path.Join(dir, "op.yaml")}}
	text, err := readText(fsys, l.o.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{File: l.o.File, Message: "there is no such file", Hint: "an operator is a folder with an op.yaml"}
	}
	if err != nil {
		return nil, &Error{File: l.o.File, Message: "the file " + err.Error()}
	}
	l.operator(l.parse(text))
	l.checkExample()
	return l.o, nil
}

// loader fills in an operator from its folder. Its methods panic with an *Error
// at the first fault, which Load returns.
type loader struct {
	fsys fs.FS
	dir  string
	o    *Operator
}

// fail ends the loading with a fault at a place of op.yaml.
func (l *loader) fail(where Position, format string, args ...any) {
	l.failHint(where, "", format, args...)
}

func (l *loader) failHint(where Position, hint, format string, args ...any) {
	panic(&Error{File: l.o.File, Line: where.Line, Column: where.Column, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
