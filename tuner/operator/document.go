package operator

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"autotune/internal/output"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The files that are written by hand, op.yaml and lists of problems, use little of
// YAML: mappings, lists and scalars, but no anchors, tags or further documents.
// This file parses them and says of each node where it stands and what it is.

// document is such a file. Its methods panic with an *Error at the first fault.
type document struct {
	file   string
	what   string // "an operator's description"
	empty  string // what to say of an empty one
	second string // what to say of a second document in it

	fragments []fragment                  // that it includes
	whole     func(ast.Node) ast.Node     // a mapping with what it includes; nil: it includes nothing
	spliced   func([]ast.Node) []ast.Node // the same of a list's items
}

// fail ends the reading with a fault at a place of the file.
func (l *document) fail(where Position, format string, args ...any) {
	l.failHint(where, "", format, args...)
}

func (l *document) failHint(where Position, hint, format string, args ...any) {
	where = l.kept(where)
	panic(&Error{File: cmp.Or(where.File, l.file), Line: where.Line, Column: where.Column, Message: fmt.Sprintf(format, args...), Hint: hint, By: where.By})
}

// Position is a place in a file; lines and columns count from 1.
type Position struct {
	Line   int
	Column int
	File   string // of a formula; "": the one that describes the operator
	By     string // where that file is included; "": it is not
	source int    // the number of the fragment that it is in; 0: in none
}

// entry is one "key: value" of a mapping, at the key's place.
type entry struct {
	Position
	key   string
	value ast.Node
}

// parse reads the text of the file.
func (l *document) parse(text string) ast.Node {
	l.checkSize(text)
	l.checkNesting(text)
	parsed, err := parseYAML(text)
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) {
		l.refuseSyntax(text, syntax)
	}
	if err != nil {
		message, _, _ := strings.Cut(err.Error(), "\n")
		l.fail(Position{Line: 1, Column: 1}, "YAML: %s", message)
	}
	var root ast.Node
	for _, doc := range parsed.Docs {
		if doc.Body != nil && root != nil {
			l.failHint(place(doc.Body.GetToken()), l.second, "a second document")
		}
		if doc.Body != nil {
			root = doc.Body
		}
	}
	if root == nil {
		l.failHint(Position{Line: 1, Column: 1}, l.empty, "the file is empty")
	}
	return root
}

// refuseSyntax says what is wrong with text that is no YAML. A tab looks like the
// spaces that belong there, so it is named.
func (l *document) refuseSyntax(text string, fault *yaml.SyntaxError) {
	where := place(fault.Token)
	if lines := strings.Split(text, "\n"); where.Line <= len(lines) {
		line := strings.TrimRight(lines[where.Line-1], "\r")
		if indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; strings.Contains(indent, "\t") {
			l.failHint(Position{Line: where.Line, Column: 1 + strings.Index(indent, "\t")}, "use spaces", "YAML: a tab indents the line")
		}
	}
	message, _, _ := strings.Cut(fault.Message, "\n")
	l.fail(where, "YAML: %s", strings.ReplaceAll(message, "\"", "`"))
}

// parseYAML parses text. The library may panic over odd bytes; that is an error too.
func parseYAML(text string) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("this cannot be read")
		}
	}()
	return parser.ParseBytes([]byte(text), 0)
}

// mostMarks is how many of the signs that part values a file may have: above those of
// a thousand problems, and what a parser reads in half a second.
const mostMarks = 60_000

// checkSize refuses text of more values than any file that is written by hand has.
func (l *document) checkSize(text string) {
	marks := 0
	for i := range len(text) {
		switch text[i] {
		case ',', ':', '\n':
			marks++
		}
	}
	if marks > mostMarks {
		l.fail(Position{Line: 1, Column: 1}, "%d commas, colons and lines are too many for %s; %d are the most", marks, l.what, mostMarks)
	}
}

// checkNesting refuses text nested so deep that parsing it would cost more than
// any operator is worth, the stack included.
func (l *document) checkNesting(text string) {
	const deep = 200
	flow := 0 // brackets open so far
	for number, line := range strings.Split(text, "\n") {
		most := flow
		for _, c := range line {
			switch c {
			case '[', '{':
				flow++
				most = max(most, flow)
			case ']', '}':
				flow--
			}
		}
		entries := strings.Count(line, "- ") + strings.Count(line, "? ")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if max(most, entries, indent) > deep {
			l.fail(Position{Line: number + 1, Column: 1}, "nested too deep to be part of %s", l.what)
		}
	}
}

func place(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{Line: 1, Column: 1}
	}
	return Position{Line: max(1, t.Position.Line), Column: max(1, t.Position.Column), source: max(0, -t.Position.Offset)}
}

// at is where a node's text starts, past a quote.
func at(n ast.Node) Position {
	if n == nil {
		return Position{Line: 1, Column: 1}
	}
	p := place(n.GetToken())
	switch n := n.(type) {
	case *ast.StringNode:
		if t := n.Token.Type; t == token.DoubleQuoteType || t == token.SingleQuoteType {
			p.Column++
		}
	case *ast.LiteralNode:
		p.Line++
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return at(n.Values[0])
		}
	case *ast.MappingValueNode:
		if n.Key != nil {
			return place(n.Key.GetToken())
		}
	}
	return p
}

// kinds says in words what nodes are.
var kinds = map[ast.NodeType]string{
	ast.NullType: "nothing", ast.BoolType: "true or false", ast.IntegerType: "an integer", ast.FloatType: "a number",
	ast.StringType: "text", ast.LiteralType: "text", ast.SequenceType: "a list", ast.MappingType: "a mapping", ast.MappingValueType: "a mapping",
}

func kind(n ast.Node) string {
	if n == nil {
		return kinds[ast.NullType]
	}
	return cmp.Or(kinds[n.Type()], "YAML that has no use here")
}

// scalar is a value without parts: as the file writes it, and as an expression would.
func scalar(n ast.Node) (written, python string, ok bool) {
	switch n := n.(type) {
	case *ast.BoolNode:
		if n.Value {
			return n.Token.Value, "True", true
		}
		return n.Token.Value, "False", true
	case *ast.IntegerNode:
		return n.Token.Value, fmt.Sprint(n.Value), true
	case *ast.FloatNode:
		return n.Token.Value, strconv.FormatFloat(n.Value, 'g', -1, 64), true
	case *ast.StringNode:
		return n.Token.Value, n.Value, true
	case *ast.LiteralNode:
		text := strings.TrimSpace(n.Value.Value)
		return text, text, true
	}
	return "", "", false
}

// scalar reads a value without parts; want says what it must be.
func (l *document) scalar(n ast.Node, want string) (written, python string) {
	written, python, ok := scalar(n)
	if !ok {
		l.refuse(n, "this must be %s; it is %s", want, kind(n))
	}
	return written, python
}

// refuse complains that a node is not what it must be. Anchors, aliases and tags
// are wrong wherever they stand, and it says so.
func (l *document) refuse(n ast.Node, format string, args ...any) {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode:
		l.fail(at(n), "anchors and aliases have no place in %s", l.what)
	case *ast.TagNode:
		l.fail(at(n), "tags have no place in %s", l.what)
	}
	l.fail(at(n), format, args...)
}

// quotesHint is for text that a comma may have cut in two.
const quotesHint = "if the comma belongs to it, put the expression in quotes, as \"ceil_div(a, b)\""

// entries are those of a mapping, in the file's order. The parser refuses a key
// that is given twice.
func (l *document) entries(n ast.Node, want string) []entry {
	if l.whole != nil {
		n = l.whole(n)
	}
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = append(pairs, n)
	default:
		l.refuse(n, "%s; this is %s", want, kind(n))
	}
	entries := make([]entry, len(pairs))
	for i, pair := range pairs {
		key, _, ok := scalar(pair.Key) // as written: y stays y, 0x5 stays 0x5
		if !ok || key == "" {
			l.refuse(pair.Key, "a key must be a name")
		}
		if strings.Count(key, ")") > strings.Count(key, "(") {
			l.failHint(place(pair.Key.GetToken()), quotesHint, "`%s` is no key", key)
		}
		entries[i] = entry{place(pair.Key.GetToken()), key, pair.Value}
	}
	return entries
}

// fields are the values of a mapping of keys.txt, by key. A mapping that is absent has none.
func (l *document) fields(n ast.Node, what string) map[string]ast.Node {
	return l.fieldsOf(n, what, mappings()[what])
}

// fieldsOf are the values of a mapping that has no other keys than these.
func (l *document) fieldsOf(n ast.Node, what string, keys []key) map[string]ast.Node {
	if n == nil {
		return nil
	}
	known := map[string]bool{}
	for _, key := range keys {
		known[key.name] = true
	}
	names := sorted(known)
	values := map[string]ast.Node{}
	for _, e := range l.entries(n, what+" must be a mapping with the keys "+strings.Join(names, ", ")) {
		if !known[e.key] {
			l.failHint(e.Position, nearestOrAll(e.key, what+" has the keys", names), "unknown key `%s`", e.key)
		}
		if kind(e.value) == kinds[ast.NullType] {
			l.fail(e.Position, "`%s` has no value", e.key)
		}
		values[e.key] = e.value
	}
	for _, key := range keys {
		if key.required && values[key.name] == nil {
			l.fail(at(n), "%s lacks the key `%s`", what, key.name)
		}
	}
	return values
}

// items are the nodes of a list; one that is absent is empty.
func (l *document) items(n ast.Node, what string) []ast.Node {
	if n == nil {
		return nil
	}
	sequence, ok := n.(*ast.SequenceNode)
	if !ok {
		l.refuse(n, "%s must be a list; this is %s", what, kind(n))
	}
	if l.spliced != nil {
		return l.spliced(sequence.Values)
	}
	return sequence.Values
}

// list reads a list whose items are alike.
func list[T any](l interface {
	items(n ast.Node, what string) []ast.Node
}, n ast.Node, what string, read func(ast.Node) T) []T {
	var values []T
	for _, item := range l.items(n, what) {
		values = append(values, read(item))
	}
	return values
}

// text reads a line of text, which is shown as it stands.
func (l *document) text(n ast.Node) string {
	text, _ := l.scalar(n, "text")
	return output.Line(text)
}

func (l *document) integer(n ast.Node) int64 {
	written, python, _ := scalar(n)
	v, err := strconv.ParseInt(python, 10, 64)
	if _, ok := n.(*ast.IntegerNode); !ok || err != nil {
		l.refuse(n, "this must be an integer; it is %s `%s`", kind(n), written)
	}
	return v
}
