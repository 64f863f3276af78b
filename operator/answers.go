package operator

import (
	"path"
	"regexp"
	"strconv"

	"autotune/operator/tree"
)

// Answers is a Python file that computes the correct outputs in place of a reference kernel.
type Answers struct {
	Python  Source
	Seconds int64 // that it may take
}

// String describes the file for messages: "ref.py, run by python3".
func (a *Answers) String() string { return a.Python.File + ", run by python3" }

// PythonFunction is the name of the function in a Python file that computes the correct outputs.
const PythonFunction = "reference"

// usualSeconds is the time limit of a Python file that sets no limit of its own.
const usualSeconds = 300

// reference reads how op.yaml computes correct outputs: by a reference kernel, a Python file, or a template's default.
func (l *loader) reference(n, root *tree.Node) {
	switch {
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
	l.o.Answers = &Answers{Python: s, Seconds: usualSeconds}
	if given := secondsForm.FindStringSubmatch(s.Text); given != nil {
		l.o.Answers.Seconds, _ = strconv.ParseInt(given[1], 10, 64)
	}
}

// secondsForm matches a line of a Python file that sets its time limit, up to a day.
var secondsForm = regexp.MustCompile(`(?m)^SECONDS = ([1-9]\d{0,4})$`)
