package operator

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// An op.yaml is read into a tree of nodes that know their place in the file, so
// that every complaint can point at it. Of YAML only what an operator needs is
// taken: mappings, lists and scalars; no anchors, tags or further documents.

// Bounds on what is taken for an op.yaml at all.
const (
	maxDocumentBytes = 256 << 10
	maxDocumentDepth = 16
)

type nodeKind int

const (
	nullNode nodeKind = iota
	boolNode
	intNode
	floatNode
	stringNode
	listNode
	mappingNode
)

func (k nodeKind) String() string {
	return [...]string{"nothing", "true or false", "an integer", "a number", "text", "a list", "a mapping"}[k]
}

// node is one value of the document.
type node struct {
	kind    nodeKind
	line    int
	column  int    // of the first character of the value itself, past a quote
	text    string // a scalar as a Python expression would write it
	raw     string // a scalar as the file writes it
	items   []*node
	entries []entry
}

// entry is one "key: value" of a mapping.
type entry struct {
	key    string
	line   int
	column int
	value  *node
}

// get is the value under key, or nil.
func (n *node) get(key string) *node {
	for _, e := range n.entries {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

func (n *node) isScalar() bool { return n.kind < listNode }

// parseDocument reads the text of an op.yaml.
func parseDocument(file string, text []byte) (root *node, err error) {
	if len(text) > maxDocumentBytes {
		return nil, &Error{File: file, Message: fmt.Sprintf("the file has %d bytes; an operator's description may have %d", len(text), maxDocumentBytes)}
	}
	if err := checkNesting(file, text); err != nil {
		return nil, err
	}
	defer func() { // the YAML parser is not to be trusted with arbitrary bytes
		if r := recover(); r != nil {
			root, err = nil, &Error{File: file, Line: 1, Column: 1, Message: "this is not YAML that can be read"}
		}
	}()
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, syntaxError(file, err)
	}
	var bodies []ast.Node
	for _, doc := range parsed.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) == 0 {
		return nil, &Error{File: file, Line: 1, Column: 1, Message: "the file is empty", Hint: "it starts with `operator: NAME`"}
	}
	if len(bodies) > 1 {
		line, column := place(bodies[1].GetToken())
		return nil, &Error{File: file, Line: line, Column: column, Message: "a second document", Hint: "one op.yaml describes one operator"}
	}
	return convert(file, bodies[0], 0)
}

// checkNesting refuses text nested so deep that parsing it would cost more than
// any operator is worth, the stack included.
func checkNesting(file string, text []byte) error {
	const deep = 200
	flow := 0 // brackets open so far
	for number, line := range strings.Split(string(text), "\n") {
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
		if most > deep || entries > deep || indent > deep {
			return &Error{File: file, Line: number + 1, Column: 1, Message: "nested too deep to be part of an operator's description"}
		}
	}
	return nil
}

func syntaxError(file string, err error) error {
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) {
		message, _, _ := strings.Cut(err.Error(), "\n")
		return &Error{File: file, Line: 1, Column: 1, Message: "YAML: " + message}
	}
	line, column := place(syntax.Token)
	message, _, _ := strings.Cut(syntax.Message, "\n")
	message = strings.ReplaceAll(message, "\"", "`")
	return &Error{File: file, Line: line, Column: column, Message: "YAML: " + message}
}

func place(t *token.Token) (line, column int) {
	if t == nil || t.Position == nil {
		return 1, 1
	}
	return max(1, t.Position.Line), max(1, t.Position.Column)
}

// convert turns the YAML library's tree into ours.
func convert(file string, from ast.Node, depth int) (*node, error) {
	line, column := 1, 1
	if from != nil {
		line, column = place(from.GetToken())
	}
	refuse := func(message string) (*node, error) {
		return nil, &Error{File: file, Line: line, Column: column, Message: message}
	}
	if depth > maxDocumentDepth {
		return refuse("nested too deep")
	}
	n := &node{line: line, column: column}
	if scalar, ok := from.(ast.ScalarNode); ok && scalar.GetToken() != nil {
		n.raw = scalar.GetToken().Value
	}
	switch from := from.(type) {
	case nil, *ast.NullNode:
		n.kind = nullNode
	case *ast.BoolNode:
		n.kind, n.text = boolNode, "False"
		if from.Value {
			n.text = "True"
		}
	case *ast.IntegerNode:
		n.kind, n.text = intNode, fmt.Sprint(from.Value)
	case *ast.FloatNode:
		n.kind, n.text = floatNode, strconv.FormatFloat(from.Value, 'g', -1, 64)
	case *ast.StringNode:
		n.kind, n.text = stringNode, from.Value
		if t := from.GetToken(); t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType {
			n.column++
		}
	case *ast.LiteralNode:
		n.kind, n.text = stringNode, strings.TrimSpace(from.Value.Value)
		n.line, n.column = line+1, column
	case *ast.SequenceNode:
		return convertList(file, n, from, depth)
	case *ast.MappingNode:
		return convertMapping(file, n, from.Values, depth)
	case *ast.MappingValueNode:
		return convertMapping(file, n, []*ast.MappingValueNode{from}, depth)
	case *ast.AnchorNode, *ast.AliasNode:
		return refuse("anchors and aliases have no place in an operator's description")
	case *ast.TagNode:
		return refuse("tags have no place in an operator's description")
	default:
		return refuse("this is YAML that an operator's description has no use for")
	}
	return n, nil
}

func convertList(file string, n *node, from *ast.SequenceNode, depth int) (*node, error) {
	n.kind = listNode
	for _, value := range from.Values {
		item, err := convert(file, value, depth+1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	return n, nil
}

func convertMapping(file string, n *node, values []*ast.MappingValueNode, depth int) (*node, error) {
	n.kind = mappingNode
	for i, pair := range values {
		e := entry{line: n.line, column: n.column}
		if pair.Key != nil {
			e.line, e.column = place(pair.Key.GetToken())
		}
		key, err := convert(file, pair.Key, depth+1)
		if err != nil {
			return nil, err
		}
		if !key.isScalar() || key.text == "" {
			return nil, &Error{File: file, Line: e.line, Column: e.column, Message: "a key must be a name"}
		}
		e.key = pair.Key.GetToken().Value // as written: y stays y, 0x5 stays 0x5
		if n.get(e.key) != nil {
			return nil, &Error{File: file, Line: e.line, Column: e.column, Message: fmt.Sprintf("`%s` is given twice", e.key)}
		}
		if e.value, err = convert(file, pair.Value, depth+1); err != nil {
			return nil, err
		}
		if i == 0 && n.column > e.column {
			n.line, n.column = e.line, e.column
		}
		n.entries = append(n.entries, e)
	}
	return n, nil
}
