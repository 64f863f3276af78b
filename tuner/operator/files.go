package operator

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"autotune/internal/input"
	"autotune/templates"
)

// Bounds on what is taken for an operator at all.
var fileBound = input.Bound{Kind: "a file of an operator", Bytes: 256 << 10} // op.yaml, and each file that it leads to

const maxIncludes = 64 // of one kernel, and of those that they include

// readText reads a file of an operator's folder; its errors go on from "the
// file". Only a regular file is opened: a pipe would never end.
func readText(fsys fs.FS, name string) (string, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot be read: %w", input.Reason(err))
	case info.IsDir():
		return "", errors.New("is a folder; it must be a regular file")
	case !info.Mode().IsRegular():
		return "", errors.New("is a pipe or a device; it must be a regular file")
	case info.Size() > int64(fileBound.Bytes):
		return "", fmt.Errorf("has %d bytes; a file of an operator may have %d", info.Size(), fileBound.Bytes)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", input.Reason(err))
	}
	defer f.Close()
	text, err := fileBound.Read(f)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", input.Reason(err))
	}
	return string(text), nil
}

// ReadSource reads what may be a file of an operator.
func ReadSource(r io.Reader) (string, error) {
	text, err := fileBound.Read(r)
	return string(text), err
}

// read reads a file of the operator's folder, and remembers it.
func (l *loader) read(name string) (string, error) {
	text, err := readText(l.fsys, path.Join(l.dir, name))
	if err == nil {
		l.o.files[name] = text
	}
	return text, err
}

var fileForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// file reads the file that a node names, of the operator's folder or of the shared one; pattern
// is what its like are called.
func (l *loader) file(n ast.Node, pattern string) Source {
	name, _, _ := scalar(n)
	if !fileForm.MatchString(name) {
		l.refuse(n, "this must name a file in the operator's folder, as direct.cu")
	}
	text, _, err := l.include(name)
	if errors.Is(err, fs.ErrNotExist) {
		l.failHint(at(n), nearestOrAll(name, "the folder has", fileNames(l.fsys, path.Join(l.dir, pattern))), "there is no source file `%s`", path.Join(l.dir, name))
	}
	if err != nil {
		l.fail(at(n), "the source file `%s` %v", path.Join(l.dir, name), err)
	}
	return Source{File: name, Text: text}
}

// kernel reads a kernel with all that it includes, and sees that it has the
// entry points. The parent's place is that of one that names no file.
func (l *loader) kernel(n, parent ast.Node, entries ...string) Source {
	s := Source{}
	switch {
	case n != nil:
		s = l.file(n, "*.cu")
	case l.own != nil:
		s, n = *l.own, parent
	default:
		l.fail(at(parent), "which file is the kernel `%s` in? `source: NAME.cu` says it", entries[0])
	}
	for _, entry := range entries {
		l.mustDefine(n, s, entry, `\b`+regexp.QuoteMeta(entry)+`\s*\(`, "its entry point is extern \"C\" __global__ void "+entry+"(...)")
	}
	return l.withIncludes(s)
}

// kernelName gives what a kernel, or a function, is called: as usual, or like the file if that is a
// shared one, which several operators have kernels in.
func (l *loader) kernelName(file ast.Node, usual string) string {
	if file == nil {
		return usual
	}
	name, _, _ := scalar(file)
	if _, err := fs.Stat(templates.FS, "include/"+name); err != nil {
		return usual
	}
	text, _, err := l.include(name)
	if stem := strings.TrimSuffix(name, path.Ext(name)); err == nil && defines(text, stem) && !defines(text, usual) {
		return stem
	}
	return usual
}

func defines(text, name string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\s*\(`).MatchString(text)
}

// mustDefine sees that a source has a text of some form.
func (l *loader) mustDefine(n ast.Node, s Source, what, form, hint string) {
	if !regexp.MustCompile(form).MatchString(s.Text) {
		l.failHint(at(n), hint, "`%s` does not define `%s`", s.File, what)
	}
}

func (l *loader) withIncludes(s Source) Source {
	s.Includes = map[string]string{}
	l.includes(path.Join(l.dir, s.File), s.Text, s.Includes, l.include)
	return s
}

var includeForm = regexp.MustCompile(`^[ \t]*#[ \t]*include[ \t]*"([^"]*)"`)

// Included gives the file that a line of CUDA C++ includes, if it includes one by
// #include "NAME".
func Included(line string) (name string, ok bool) {
	match := includeForm.FindStringSubmatch(line)
	if match == nil {
		return "", false
	}
	return match[1], true
}

// includes adds to found what a text includes, what that includes, and so on; open gives
// what is included by a name, and the file that it is from.
func (l *loader) includes(file, text string, found map[string]string, open func(name string) (text, from string, err error)) {
	for number, line := range strings.Split(text, "\n") {
		name, ok := Included(line)
		if _, known := found[name]; !ok || known {
			continue
		}
		included, from, err := open(name)
		hint := ""
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
			err = errors.New("is neither in the operator's folder nor a shared one")
			hint = nearestOrAll(name, "shared are", fileNames(templates.FS, "include/*.cuh"))
		case err == nil && len(found) == maxIncludes:
			err = fmt.Errorf("would be one more than the %d files that a kernel may include", maxIncludes)
		}
		if err != nil {
			panic(&Error{File: file, Line: number + 1, Column: strings.Index(line, `"`) + 2, Message: fmt.Sprintf("cannot include `%s`: it %v", name, err), Hint: hint})
		}
		found[name] = included
		l.includes(from, included, found, open)
	}
}

// include reads an included file. The operator's own files come before the
// shared ones of the same name.
func (l *loader) include(name string) (text, from string, err error) {
	if fs.ValidPath(name) {
		from = path.Join(l.dir, name)
		if text, err = l.read(name); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
			return text, from, err
		}
	}
	from = "include/" + name
	if text, err = readText(templates.FS, from); err == nil {
		l.o.files[name] = text
	}
	return text, from, err
}

// fileNames lists what matches a pattern, without the folder.
func fileNames(fsys fs.FS, pattern string) []string {
	files, _ := fs.Glob(fsys, pattern) // a bad pattern only costs a hint
	for i := range files {
		files[i] = path.Base(files[i])
	}
	return files
}
