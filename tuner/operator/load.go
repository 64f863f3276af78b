package operator

import (
	"errors"
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
	file := path.Join(dir, "op.yaml")
	l := &loader{
		document: document{file: file, what: "an operator's description", empty: "it starts with `operator: NAME`", second: "one op.yaml describes one operator"},
		fsys:     fsys, dir: dir, o: &Operator{File: file},
	}
	text, err := readText(fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{File: file, Message: "there is no such file", Hint: "an operator is a folder with an op.yaml"}
	}
	if err != nil {
		return nil, &Error{File: file, Message: "the file " + err.Error()}
	}
	l.operator(l.parse(text))
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
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
