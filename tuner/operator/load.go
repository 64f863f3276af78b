package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"autotune/templates"
)

// Load reads the operator in a folder of fsys. Its kernels may include files of
// the same folder and of the built-in include folder.
//
// Everything that can be checked without a GPU is checked: the first fault is
// returned as an *Error.
func Load(fsys fs.FS, dir string) (*Operator, error) {
	file := path.Join(dir, "op.yaml")
	text, err := fs.ReadFile(fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{File: file, Message: "there is no such file", Hint: "an operator is a folder with an op.yaml"}
	}
	if err != nil {
		return nil, &Error{File: file, Message: fmt.Sprintf("cannot be read: %v", err)}
	}
	root, err := parseDocument(file, text)
	if err != nil {
		return nil, err
	}
	o, err := decoder{file}.operator(root)
	if err != nil {
		return nil, err
	}
	if err := (checker{file, root, o}).check(); err != nil {
		return nil, err
	}
	if err := (sourceReader{fsys, dir, root, o}).read(); err != nil {
		return nil, err
	}
	if err := (rehearsal{o, root}).check(); err != nil {
		return nil, err
	}
	return o, nil
}

// sourceReader reads the kernels of an operator and what they include.
type sourceReader struct {
	fsys fs.FS
	dir  string
	root *node
	o    *Operator
}

func (r sourceReader) read() error {
	if err := r.source(&r.o.Reference, r.o.Name+"_reference", r.root.get("reference")); err != nil {
		return err
	}
	for i, t := range r.o.Templates {
		at := r.root.get("templates").items[i]
		if t.Name == "reference" {
			n := at.get("name")
			return &Error{File: r.o.File, Line: n.line, Column: n.column, Message: "a template cannot be called `reference`: its entry point would be the reference's"}
		}
		if err := r.source(&t.Source, r.o.Name+"_"+t.Name, at.get("source")); err != nil {
			return err
		}
	}
	return r.pytorch()
}

// source reads one kernel and sees that it has the entry point.
func (r sourceReader) source(s *Source, entry string, at *node) error {
	if err := r.text(s, at, "*.cu"); err != nil {
		return err
	}
	if !regexp.MustCompile(`\b` + regexp.QuoteMeta(entry) + `\s*\(`).MatchString(s.Text) {
		return &Error{File: r.o.File, Line: at.line, Column: at.column, Message: fmt.Sprintf("`%s` does not define `%s`", s.File, entry),
			Hint: fmt.Sprintf("its entry point is extern \"C\" __global__ void %s(...)", entry)}
	}
	s.Includes = map[string]string{}
	return r.includes(path.Join(r.dir, s.File), s.Text, s.Includes)
}

var includeForm = regexp.MustCompile(`^[ \t]*#[ \t]*include[ \t]*"([^"]*)"`)

// includes adds to found what a text includes, what that includes, and so on.
// The operator's own files come before the shared ones of the same name.
func (r sourceReader) includes(file, text string, found map[string]string) error {
	for number, line := range strings.Split(text, "\n") {
		match := includeForm.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		name := match[1]
		if _, known := found[name]; known {
			continue
		}
		included, from, err := r.include(name)
		if err != nil {
			return &Error{File: file, Line: number + 1, Column: strings.Index(line, `"`) + 2, Message: fmt.Sprintf("cannot include `%s`: it is neither in the operator's folder nor a shared one", name),
				Hint: nearestOrAll(name, "shared are", sharedIncludes())}
		}
		found[name] = included
		if err := r.includes(from, included, found); err != nil {
			return err
		}
	}
	return nil
}

func (r sourceReader) include(name string) (text, from string, err error) {
	if own := path.Join(r.dir, name); fs.ValidPath(name) && name != "." {
		if b, err := fs.ReadFile(r.fsys, own); err == nil {
			return string(b), own, nil
		}
	}
	shared := "include/" + name
	b, err := fs.ReadFile(templates.FS, shared)
	return string(b), shared, err
}

func sharedIncludes() []string {
	files, _ := fs.Glob(templates.FS, "include/*.cuh") // the pattern is well-formed: no error
	for i := range files {
		files[i] = path.Base(files[i])
	}
	return slices.Clip(files)
}
