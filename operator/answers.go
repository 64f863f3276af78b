package operator

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator/tree"
)

// Answers are where right results come from if not from a kernel: a Python file, or files with the
// results.
type Answers struct {
	Python  *Source
	Seconds int64             // that the Python file may take
	Files   map[string]string // by tensor, which of the operator's data files holds it
}

// Fixed tells whether the answers are right for one set of inputs alone.
func (a *Answers) Fixed() bool { return a != nil && a.Python == nil }

// String names them, as in "ref.py, run by python3".
func (a *Answers) String() string {
	if a.Python != nil {
		return a.Python.File + ", run by python3"
	}
	files := lists.Of(sorted(a.Files), func(tensor string) string { return a.Files[tensor] })
	return "files of answers: " + strings.Join(files, ", ")
}

// PythonFunction is the function of a Python file that says what is right.
const PythonFunction = "reference"

// usualSeconds is what a Python file may take unless it is given more.
const usualSeconds = 300

// reference reads what is right: a kernel of its own, a template's default, a Python
// file, or files of answers.
func (l *loader) reference(n, root *tree.Node) {
	if n == nil || n.Kind != tree.Mapping {
		l.o.referenceEntry = l.kernelName(n, l.o.Name+"_reference")
		l.o.Reference = l.kernelFile(n, root, l.o.referenceEntry)
		return
	}
	f := fields(n, "a reference")
	seconds := f["seconds"]
	if seconds != nil && f["python"] == nil {
		seconds.Refuse("only a Python file has a time of its own")
	}
	delete(f, "seconds")
	if len(f) != 1 {
		n.RefuseHint("as {python: ref.py}", "a reference is one of these: a file, {template: NAME}, {python: FILE}, {npy: {TENSOR: FILE}}")
	}
	switch {
	case f["python"] != nil:
		l.pythonReference(f["python"], seconds)
	case f["npy"] != nil:
		l.filedReference(f["npy"])
	default:
		l.o.ReferenceTemplate, l.referenceAt = f["template"].Text(), f["template"]
	}
}

func (l *loader) pythonReference(file, seconds *tree.Node) {
	s := l.file(file, "*.py")
	if path.Ext(s.File) != ".py" {
		file.RefuseHint("as {python: ref.py}", "`%s` is not the name of a Python file", s.File)
	}
	s.mustDefine(file, PythonFunction, `(?m)^def\s+`+PythonFunction+`\s*\(`, "it has a function `def "+PythonFunction+"(...)`, which takes the inputs and returns the outputs")
	a := &Answers{Python: &s, Seconds: tree.Optional(seconds, (*tree.Node).Int, usualSeconds)}
	if a.Seconds < 1 || a.Seconds > 86400 {
		seconds.Refuse("a Python file may take from 1 to 86400 seconds, not %d", a.Seconds)
	}
	l.o.Answers = a
}

// filedReference reads {y: y.npy}, a file for each tensor that is compared. Such answers
// are right for inputs that no seed changes.
func (l *loader) filedReference(n *tree.Node) {
	names := map[string]bool{}
	for _, a := range l.o.Arguments {
		if a.Role.Compared() {
			names[a.Name] = true
		}
	}
	f := n.Fields("npy", names)
	l.o.Answers = &Answers{Files: map[string]string{}}
	for _, a := range l.o.Arguments {
		if a.Role.Compared() {
			l.o.Answers.Files[a.Name] = l.data(f[a.Name], a)
		}
		if a.Role.Filled() && (a.Fill == nil || a.Fill.File == "" && !slices.Contains([]string{"constant", "range"}, a.Fill.Distribution)) {
			n.RefuseHint("fill it from a file too, as fill: {npy: "+a.Name+".npy}, or with a constant or a range",
				"answers in files are right for the same inputs alone, and `%s` depends on the seed", a.Name)
		}
	}
}

// CompareSpec is a kernel of the operator's that gives one number for how far outputs
// are from the reference's, and what that number may be.
type CompareSpec struct {
	Source Source
	Entry  string
	Bound  Formula
}

// String is as in "op_compare of compare.cu, at most 1e-3".
func (c *CompareSpec) String() string {
	return fmt.Sprintf("%s of %s, at most %s", c.Entry, c.Source.File, c.Bound)
}

// compare reads `compare: FILE.cu` or {kernel: FILE.cu, entry: NAME, bound: EXPR}.
func (l *loader) compare(n, tolerance *tree.Node, formula func(*tree.Node) Formula) {
	if n == nil {
		return
	}
	if tolerance != nil {
		tolerance.RefuseHint("the bound of `compare` takes its place", "a kernel compares, so a tolerance means nothing")
	}
	f := tree.Fields{"kernel": n}
	if n.Kind == tree.Mapping {
		f = fields(n, "compare")
	}
	c := &CompareSpec{Bound: tree.Optional(f["bound"], formula, constant("0"))}
	c.Entry = tree.Optional(f["entry"], (*tree.Node).Name, l.o.Name+"_compare")
	c.Source = l.kernelFile(f["kernel"], n, c.Entry)
	l.o.Compare = c
}
