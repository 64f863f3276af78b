package operator

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
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

// reference reads what is right: a kernel of its own, a Python file, the default of a template that is
// named, or files of answers.
func (l *loader) reference(n, root *tree.Node) {
	switch {
	case n != nil && n.Kind == tree.Mapping:
		l.filedReference(n)
	case n != nil && path.Ext(n.Written) == ".py":
		l.pythonReference(n)
	case n != nil && tree.IsName(n.Written):
		l.o.ReferenceTemplate, l.referenceAt = n.Text(), n
	default:
		l.o.referenceEntry = l.kernelName(n, l.o.Name+"_reference")
		l.o.Reference = l.kernelFile(n, root, l.o.referenceEntry)
	}
}

func (l *loader) pythonReference(n *tree.Node) {
	s := l.file(n, "*.py")
	s.mustDefine(n, PythonFunction, `(?m)^def\s+`+PythonFunction+`\s*\(`, "it has a function `def "+PythonFunction+"(...)`, which takes the inputs and returns the outputs")
	l.o.Answers = &Answers{Python: &s, Seconds: usualSeconds}
	if given := secondsForm.FindStringSubmatch(s.Text); given != nil {
		l.o.Answers.Seconds, _ = strconv.ParseInt(given[1], 10, 64)
	}
}

// secondsForm is a line of a Python file that says how long it may take, up to a day.
var secondsForm = regexp.MustCompile(`(?m)^SECONDS = ([1-9]\d{0,4})$`)

// filedReference reads {y: y.npy}, a file for each tensor that is compared. Such answers
// are right for inputs that no seed changes.
func (l *loader) filedReference(n *tree.Node) {
	names := map[string]bool{}
	for _, a := range l.o.Arguments {
		if a.Role.Compared() {
			names[a.Name] = true
		}
	}
	f := n.Fields("files of answers", names)
	l.o.Answers = &Answers{Files: map[string]string{}}
	for _, a := range l.o.Arguments {
		if a.Role.Compared() {
			l.o.Answers.Files[a.Name] = l.data(f[a.Name], a)
		}
		if a.Role.Filled() && (a.Fill == nil || a.Fill.File == "" && !slices.Contains([]string{"constant", "range"}, a.Fill.Distribution)) {
			n.RefuseHint("fill it from a file too, as fill: "+a.Name+".npy, or with a constant or a range",
				"answers in files are right for the same inputs alone, and `%s` depends on the seed", a.Name)
		}
	}
}

// CompareSpec is a kernel of the operator's that gives one number for how far outputs are from the
// reference's: 0 where they are right.
type CompareSpec struct {
	Source Source
	Entry  string
}

// String is as in "op_compare of compare.cu".
func (c *CompareSpec) String() string { return fmt.Sprintf("%s of %s", c.Entry, c.Source.File) }
