package operator

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"autotune/internal/cudafile"
	"autotune/internal/input"
	"autotune/operator/tree"
	"autotune/templates"
)

var fileBound = input.Bound{Kind: "a file of an operator", Bytes: 256 << 10} // op.yaml, and each file that it names

const maxIncludes = 64 // of one kernel, direct and indirect

// OpenFolder opens an operator's folder. Reading a symbolic link that leads out of the folder fails.
func OpenFolder(path string) (fs.FS, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return root.FS(), nil
}

// leadsOut tells whether err says that a symbolic link leads out of a folder, for which package os has no error value.
func leadsOut(err error) bool {
	return err != nil && strings.Contains(err.Error(), "escapes from parent")
}

// ReadText reads a file of an operator's folder. The errors of ReadText continue a sentence that begins with "the
// file". ReadText opens only regular files, because reading a pipe might never end.
func ReadText(fsys fs.FS, name string) (string, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case leadsOut(err):
		return "", errors.New("is a link that leads out of the operator's folder; put a copy there")
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

func ReadSource(r io.Reader) (string, error) {
	text, err := fileBound.Read(r)
	return string(text), err
}

// folder is an operator's folder, with the files that were read from it and from the shared folder.
type folder struct {
	faults *tree.Faults
	fsys   fs.FS
	dir    string
	files  map[string]string // by name
	// paths and lines are caches, because kernels share most of their includes.
	paths map[string]string   // by name: of what was included
	lines map[string][]string // by path: the file that each line includes
}

func (f *folder) read(name string) (string, error) {
	text, err := ReadText(f.fsys, path.Join(f.dir, name))
	if err == nil {
		f.files[name] = text
	}
	return text, err
}

// include reads an included file. A file in the operator's folder takes precedence over a shared file of the same name.
func (f *folder) include(name string) (text, from string, err error) {
	if from, known := f.paths[name]; known {
		return f.files[name], from, nil
	}
	from, err = path.Join(f.dir, name), fs.ErrInvalid
	if fs.ValidPath(name) {
		text, err = f.read(name)
	}
	if missing(err) {
		from = "include/" + name
		text, err = ReadText(templates.FS, from)
	}
	if err == nil {
		f.files[name], f.paths[name] = text, from
	}
	return text, from, err
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) }

var fileForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// IsFileName tells whether op.yaml may use name for a file of its folder.
func IsFileName(name string) bool { return fileForm.MatchString(name) }

// file reads the file that a node of op.yaml names, from the operator's folder or from the shared folder. If the named
// file does not exist, the error suggests the files that match pattern.
func (f *folder) file(n *tree.Node, pattern string) Source {
	name := n.Written
	if !fileForm.MatchString(name) {
		n.Refuse("this must name a file in the operator's folder, as direct.cu")
	}
	if n.Failed() {
		return Source{}
	}
	text, _, err := f.include(name)
	if errors.Is(err, fs.ErrNotExist) {
		hint := tree.NearestOrAll(name, "the folder has", fileNames(f.fsys, path.Join(f.dir, pattern)))
		n.RefuseHint(hint, "there is no source file `%s`", path.Join(f.dir, name))
	}
	if err != nil {
		n.Refuse("the source file `%s` %v", path.Join(f.dir, name), err)
	}
	return Source{File: name, Text: text}
}

// usual returns the node of a key that names a file or, if op.yaml lacks the key, a node for the file called name, if
// it exists.
func (f *folder) usual(given, parent *tree.Node, name string) *tree.Node {
	if _, err := fs.Stat(f.fsys, path.Join(f.dir, name)); given != nil || err != nil {
		return given
	}
	return parent.Named(name)
}

// kernelName returns the name of a file's kernel: the argument usual or, in a shared file that does not define a kernel
// of that name, the file's name.
func (f *folder) kernelName(file *tree.Node, usual string) string {
	if file == nil {
		return usual
	}
	name := file.Written
	if _, err := fs.Stat(templates.FS, "include/"+name); err != nil {
		return usual
	}
	text, _, err := f.include(name)
	if stem := strings.TrimSuffix(name, path.Ext(name)); err == nil && defines(text, stem) && !defines(text, usual) {
		return stem
	}
	return usual
}

// defines tells whether a text contains a name followed by a parenthesis, as a definition of a function does.
func defines(text, name string) bool {
	for at := 0; ; at++ {
		next := strings.Index(text[at:], name)
		if next < 0 {
			return false
		}
		at += next
		behind := strings.TrimLeft(text[at+len(name):], " \t\r\n\f")
		if (at == 0 || !inWord(text[at-1])) && strings.HasPrefix(behind, "(") {
			return true
		}
	}
}

func inWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// mustDefine refuses a source without a definition that matches form.
func (s Source) mustDefine(n *tree.Node, what, form, hint string) {
	if !regexp.MustCompile(form).MatchString(s.Text) {
		s.lacks(n, what, hint)
	}
}

func (s Source) lacks(n *tree.Node, what, hint string) {
	n.RefuseHint(hint, "`%s` does not define `%s`", s.File, what)
}

// withIncludes returns a source with all files that it includes, directly or indirectly.
func (f *folder) withIncludes(s Source, from string) Source {
	s.Includes = map[string]string{}
	f.includes(from, s.Text, s.Includes)
	return s
}

var includeForm = regexp.MustCompile(`^[ \t]*#[ \t]*include[ \t]*"([^"]*)"`)

// Included returns for each line of CUDA C++ the NAME if the line is #include "NAME", and otherwise "". Included
// ignores comments and code under `#if 0`.
func Included(text string) []string {
	var names []string
	for line := range strings.Lines(cudafile.Compiled(text)) {
		name := ""
		if strings.Contains(line, "include") { // a quick test, which few lines pass
			if match := includeForm.FindStringSubmatch(line); match != nil {
				name = match[1]
			}
		}
		names = append(names, name)
	}
	return names
}

// includes adds the files that a file includes, directly or indirectly, to the map found.
func (f *folder) includes(file, text string, found map[string]string) {
	names, known := f.lines[file]
	if !known {
		names = Included(text)
		f.lines[file] = names
	}
	for number, name := range names {
		if _, known := found[name]; known || name == "" {
			continue
		}
		included, from, err := f.include(name)
		hint := ""
		switch {
		case missing(err):
			err = errors.New("is neither in the operator's folder nor a shared one")
			hint = tree.DidYouMean(name, fileNames(templates.FS, "include/*.cuh"))
		case err == nil && len(found) == maxIncludes:
			err = fmt.Errorf("would be one more than the %d files that a kernel may include", maxIncludes)
		}
		if err != nil {
			line := strings.Split(text, "\n")[number]
			where := f.faults.At(file, number+1, strings.Index(line, `"`)+2)
			where.RefuseHint(hint, "cannot include `%s`: it %v", name, err)
			return
		}
		found[name] = included
		f.includes(from, included, found)
	}
}

// fileNames lists the files that match a pattern, without their folder.
func fileNames(fsys fs.FS, pattern string) []string {
	files, _ := fs.Glob(fsys, pattern) // a bad pattern only costs a hint
	for i := range files {
		files[i] = path.Base(files[i])
	}
	return files
}
