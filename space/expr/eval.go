package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Expr is a parsed expression. An Expr is safe for concurrent use.
type Expr struct {
	source string
	root   *Node
	names  []string

	once    sync.Once // the first Eval compiles the program
	program *Program
	code    []instruction
	result  Term
}

// New makes an expression from a tree, such as one that a Folder made.
func New(root *Node) *Expr { return &Expr{source: root.source, root: root, names: root.Names()} }

func (e *Expr) compile() {
	e.program = NewProgram()
	for _, n := range e.root.nameNodes() { // an error names the first unknown name
		if _, ok := e.program.names[n.Name]; !ok {
			e.program.names[n.Name] = e.program.unset(n)
		}
	}
	e.result = e.program.lower(e.root, false)
	c := e.program.Code()
	c.Compile(e.result, func(Term) bool { return true })
	e.code = c.once
}

// Eval evaluates e with names taken from env. The error of Eval is an *EvalError.
func (e *Expr) Eval(env map[string]Value) (Value, error) {
	e.once.Do(e.compile)
	slots := slices.Clone(e.program.Slots)
	for _, name := range e.names {
		if v := env[name]; v.kind != KindNone {
			slots[e.program.names[name]] = v
		}
	}
	slots.run(e.code, e.program.facts)
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

// Check returns an *EvalError if the expression e contains a name that is not in known.
func (e *Expr) Check(known map[string]bool) error {
	for _, n := range e.root.nameNodes() {
		if !known[n.Name] {
			return failure(n, "unknown name '"+n.Name+"': known are "+strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return nil
}

func (e *Expr) Substitute(definitions map[string]*Expr) *Expr {
	root := (&Folder{Definitions: definitions}).Fold(e.root)
	return &Expr{source: e.source, root: root, names: root.Names()}
}

// Names returns the names that e uses, sorted, without names of functions.
func (e *Expr) Names() []string { return slices.Clone(e.names) }

func (e *Expr) String() string { return e.source }
func (e *Expr) Root() *Node    { return e.root }

// SyntaxError says where an expression is malformed and how to correct it.
type SyntaxError struct{ fault }

type EvalError struct{ fault }

func failure(n *Node, reason string) error {
	return &EvalError{fault{n.source, n.Column, reason}}
}

type fault struct {
	Source  string
	Column  int // 1-based, in characters
	Message string
}

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
