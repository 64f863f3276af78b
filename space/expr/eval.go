package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Expr is a parsed expression. It is safe for concurrent use.
type Expr struct {
	source string
	root   *Node
	names  []string

	once    sync.Once // the first Eval compiles
	program *Program
	code    []instruction
	result  Term
}

// New makes an expression of a tree, such as one that a Folder made.
func New(root *Node) *Expr { return &Expr{source: root.source, root: root, names: root.Names()} }

func (e *Expr) compile() {
	e.program = NewProgram()
	for _, n := range e.root.nameNodes() { // an error names the first
		if _, ok := e.program.names[n.Name]; !ok {
			e.program.names[n.Name] = e.program.unset(n)
		}
	}
	e.result = e.program.lower(e.root, false)
	c := e.program.Code()
	c.Compile(e.result, func(Term) bool { return true })
	e.code = c.once
}

// Eval evaluates e with names taken from env. An error is an *EvalError.
func (e *Expr) Eval(env map[string]Value) (Value, error) {
	e.once.Do(e.compile)
	slots := slices.Clone(e.program.slots)
	for _, name := range e.names {
		if v := env[name]; v.kind != KindNone {
			slots[e.program.names[name]] = v
		}
	}
	e.program.run(e.code, slots)
	v := slots[e.result]
	if v.kind != KindNone {
		return v, nil
	}
	n, reason := e.program.facts[v.bits].node, v.text
	switch n.Op {
	case OpName:
		reason = "unknown name '" + n.Name + "'"
	case OpCall:
		reason = n.Name + "() has no value here"
	}
	return Value{}, failure(n, reason)
}

// Check makes sure that e has no other names than these. Its error is an *EvalError.
func (e *Expr) Check(known map[string]bool) error {
	for _, n := range e.root.nameNodes() {
		if !known[n.Name] {
			return failure(n, "unknown name '"+n.Name+"': known are "+strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return nil
}

// Substitute returns e with definitions in place of the names they define.
func (e *Expr) Substitute(definitions map[string]*Expr) *Expr {
	root := (&Folder{Definitions: definitions}).Fold(e.root)
	return &Expr{source: e.source, root: root, names: root.Names()}
}

// Column says where a name first stands in the source: 1-based, in characters. It is 0 for a name that does not occur.
func (e *Expr) Column(name string) int {
	column := 0
	for _, n := range e.root.nameNodes() {
		if n.Name == name && (column == 0 || n.Column < column) {
			column = n.Column
		}
	}
	return column
}

// Names returns the free names, sorted, without functions.
func (e *Expr) Names() []string { return slices.Clone(e.names) }

// String returns the source.
func (e *Expr) String() string { return e.source }

// Root returns the parsed tree.
func (e *Expr) Root() *Node { return e.root }

// SyntaxError says where an expression is malformed and what would be right.
type SyntaxError struct{ fault }

// EvalError says where evaluating an expression failed and why.
type EvalError struct{ fault }

func failure(n *Node, reason string) error {
	return &EvalError{fault{n.source, n.Column, reason}}
}

// fault says where in an expression something is wrong.
type fault struct {
	Source  string
	Column  int // 1-based, in characters
	Message string
}

// Error keeps to one line.
func (e *fault) Error() string {
	const most = 200
	source := e.Source
	if len(source) > most {
		cut := most
		for !utf8.RuneStart(source[cut]) {
			cut--
		}
		source = source[:cut] + "..."
	}
	return fmt.Sprintf("%q, column %d: %s", source, e.Column, e.Message)
}
