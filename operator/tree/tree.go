package tree

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"autotune/internal/output"
	"autotune/internal/quote"
)

type Kind string

const (
	Nothing Kind = "nothing"
	Truth   Kind = "true or false"
	Integer Kind = "an integer"
	Number  Kind = "a number"
	Text    Kind = "text"
	List    Kind = "a list"
	Mapping Kind = "a mapping"
	odd     Kind = "YAML that has no use here"
)

var kinds = map[ast.NodeType]Kind{
	ast.NullType: Nothing, ast.BoolType: Truth, ast.IntegerType: Integer, ast.FloatType: Number, ast.StringType: Text,
	ast.LiteralType: Text, ast.SequenceType: List, ast.MappingType: Mapping, ast.MappingValueType: Mapping,
}

// Node is a value in a YAML file. The position of a Node is where its text starts, behind an opening quote. A method
// that reads a node of the wrong kind records a fault and returns an empty value.
type Node struct {
	Position
	Kind    Kind
	Written string // a scalar as the file writes it
	Value   string // a scalar as an expression would write it
	Items   []*Node
	Entries []Entry
	Cut     bool // a comma follows it, which may have been meant as part of its text

	Axis string // the axis that replaces `$` in it; "": none yet

	Model string // the earlier template that it includes; "": none
	own   []Entry
	With  *Node // named values for the items of an included file
}

// Entry is a "key: value" pair of a mapping, at the key's position.
type Entry struct {
	Position
	Key   string
	Value *Node
}

func (e Entry) Name() *Node { return (&Node{Position: e.Position}).Named(e.Key) }

func (n *Node) Named(text string) *Node {
	return &Node{Position: n.Position, Kind: Text, Written: text, Value: text}
}

type File struct {
	Name, By string // its path, and the place that includes it
	What     string // "an operator's description"
	Empty    string // message for an empty file
	Second   string // message for a second document in the file
	Faults   *Faults
}

// Parse parses a file's text. If the text has a fault, Parse stores it in f.Faults and returns an empty node.
func (f File) Parse(text string) *Node {
	f.checkEncoding(text)
	f.checkSize(text)
	f.checkNesting(text)
	if f.Faults.Failed() {
		return f.node(nil)
	}
	parsed, err := parseYAML(text)
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) {
		f.refuseSyntax(text, syntax)
	}
	if err != nil {
		f.at(1, 1).Refuse("YAML: %s", firstLine(err.Error()))
		return f.node(nil)
	}
	var root ast.Node
	for _, doc := range parsed.Docs {
		if doc.Body != nil && root != nil {
			f.place(doc.Body.GetToken()).RefuseHint(f.Second, "a second document")
		}
		root = cmp.Or(doc.Body, root)
	}
	if root == nil {
		f.at(1, 1).RefuseHint(f.Empty, "the file is empty")
	}
	return f.node(root)
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// parseYAML parses text. A panic of the YAML library, which unusual bytes may cause, becomes an error.
func parseYAML(text string) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("this cannot be read")
		}
	}()
	return parser.ParseBytes([]byte(text), 0)
}

// refuseSyntax reports text that is not valid YAML, and names tabs, which look like the spaces that YAML requires.
func (f File) refuseSyntax(text string, fault *yaml.SyntaxError) {
	where := f.place(fault.Token)
	if lines := strings.Split(text, "\n"); where.Line <= len(lines) {
		line := strings.TrimRight(lines[where.Line-1], "\r")
		if indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; strings.Contains(indent, "\t") {
			f.at(where.Line, 1+strings.Index(indent, "\t")).RefuseHint("use spaces", "YAML: a tab indents the line")
		}
	}
	where.Refuse("YAML: %s", strings.ReplaceAll(firstLine(fault.Message), "\"", "`"))
}

// checkEncoding refuses text that is not UTF-8 at its first wrong byte, which would break names in programs and pages.
func (f File) checkEncoding(text string) {
	if utf8.ValidString(text) {
		return
	}
	at := 0
	for r, size := utf8.DecodeRuneInString(text); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRuneInString(text[at:]) {
		at += size
	}
	before := text[:at]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	f.at(1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(line)).RefuseHint("save the file as UTF-8", "the byte %#x is not UTF-8", text[at])
}

// mostMarks limits the commas, colons and line breaks in a file. A list of a thousand problems has fewer such marks
// than mostMarks, which a parser reads in half a second.
const mostMarks = 60_000

// checkSize refuses text with more values than a hand-written file has.
func (f File) checkSize(text string) {
	if marks := strings.Count(text, ",") + strings.Count(text, ":") + strings.Count(text, "\n"); marks > mostMarks {
		f.at(1, 1).Refuse("%d commas, colons and lines are too many for %s; %d are the most", marks, f.What, mostMarks)
	}
}

// checkNesting refuses text that is nested too deeply to parse with reasonable time and stack.
func (f File) checkNesting(text string) {
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
			f.at(number+1, 1).Refuse("nested too deep to be part of %s", f.What)
		}
	}
}

func (f File) at(line, column int) Position { return Position{f.Name, line, column, f.By, f.Faults} }

func (f File) place(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return f.at(1, 1)
	}
	return f.at(max(1, t.Position.Line), max(1, t.Position.Column))
}

func (f File) node(parsed ast.Node) *Node {
	if parsed == nil {
		return &Node{Position: f.at(1, 1), Kind: Nothing}
	}
	t := parsed.GetToken()
	n := &Node{Position: f.place(t), Kind: cmp.Or(kinds[parsed.Type()], odd)}
	n.Cut = t != nil && t.Next != nil && t.Next.Type == token.CollectEntryType
	switch parsed := parsed.(type) {
	case *ast.BoolNode:
		n.Written, n.Value = parsed.Token.Value, "False"
		if parsed.Value {
			n.Value = "True"
		}
	case *ast.IntegerNode:
		n.Written, n.Value = parsed.Token.Value, fmt.Sprint(parsed.Value)
	case *ast.FloatNode:
		n.Written, n.Value = parsed.Token.Value, strconv.FormatFloat(parsed.Value, 'g', -1, 64)
	case *ast.StringNode:
		n.Written, n.Value = parsed.Token.Value, parsed.Value
		if kind := parsed.Token.Type; kind == token.DoubleQuoteType || kind == token.SingleQuoteType {
			n.Column++
		}
	case *ast.LiteralNode:
		n.Value = strings.TrimSpace(parsed.Value.Value)
		n.Written = n.Value
		n.Line++
	case *ast.SequenceNode:
		for _, item := range parsed.Values {
			n.Items = append(n.Items, f.node(item))
		}
	case *ast.MappingNode:
		for _, pair := range parsed.Values {
			n.Entries = append(n.Entries, f.entry(pair))
		}
		if !parsed.IsFlowStyle && len(n.Entries) > 0 {
			n.Position = n.Entries[0].Position
		}
	case *ast.MappingValueNode:
		n.Entries = []Entry{f.entry(parsed)}
		n.Position = n.Entries[0].Position
	case *ast.AnchorNode, *ast.AliasNode:
		n.Refuse("anchors and aliases have no place in %s", f.What)
	case *ast.TagNode:
		n.Refuse("tags have no place in %s", f.What)
	}
	return n
}

// quotesHint is the hint for an expression that a comma may have split.
const quotesHint = "if the comma belongs to it, put the expression in quotes, as \"ceil_div(a, b)\""

// CutHint returns a hint for a bad expression that a comma may have split, such as [ceil_div(a, b)] without quotes.
func (n *Node) CutHint() string {
	if n.Cut && strings.Count(n.Value, "(") > strings.Count(n.Value, ")") {
		return quotesHint
	}
	return ""
}

// entry reads a key and its value from a mapping, whose keys differ because the YAML parser refuses duplicate keys.
func (f File) entry(pair *ast.MappingValueNode) Entry {
	key := f.node(pair.Key)
	key.Position = f.place(pair.Key.GetToken())
	if !key.Scalar() || key.Written == "" {
		key.Refuse("a key must be a name")
	}
	if strings.Count(key.Written, ")") > strings.Count(key.Written, "(") {
		key.RefuseHint(quotesHint, "`%s` is no key", key.Written)
	}
	return Entry{key.Position, key.Written, f.node(pair.Value)} // the key as written: y stays y, 0x5 stays 0x5
}

func (n *Node) For(axis string) *Node {
	one := *n
	one.Axis, one.Written = axis, strings.ReplaceAll(n.Written, "$", axis)
	return &one
}

// Scalar tells whether a node is a single value.
func (n *Node) Scalar() bool { return slices.Contains([]Kind{Truth, Integer, Number, Text}, n.Kind) }

// Where returns the node's position, or the start of the file if the node is nil.
func (n *Node) Where() Position {
	if n == nil {
		return Position{Line: 1, Column: 1}
	}
	return n.Position
}

// Get returns the value of a mapping's key, or nil.
func (n *Node) Get(key string) *Node {
	if i := slices.IndexFunc(n.Entries, func(e Entry) bool { return e.Key == key }); i >= 0 {
		return n.Entries[i].Value
	}
	return nil
}

func (n *Node) Must(want string, kinds ...Kind) *Node {
	if !slices.Contains(kinds, n.Kind) {
		n.Refuse("this must be %s; it is %s", want, n.Kind)
	}
	return n
}

func (n *Node) MustBe(want string) *Node { return n.Must(want, Truth, Integer, Number, Text) }

func (n *Node) Expression() string {
	return strings.ReplaceAll(n.MustBe("an expression").Value, "\n", " ")
}

func (n *Node) Text() string { return output.Line(n.MustBe("text").Written) }
func (n *Node) Bool() bool   { return n.Must("true or false", Truth).Value == "True" }

func (n *Node) Int() int64 {
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != Integer || err != nil {
		n.Refuse("this must be an integer; it is %s `%s`", n.Kind, n.Written)
	}
	return v
}

func (n *Node) Float() float64 {
	x, err := strconv.ParseFloat(n.Written, 64)
	if err != nil {
		x, err = strconv.ParseFloat(n.Value, 64)
	}
	if err != nil {
		n.Refuse("this must be a number; it is %s `%s`", n.Kind, n.Written)
	}
	return x
}

// IsName tells whether name is valid for an operator, a tunable and the like.
func IsName(name string) bool { return quote.IsName(name) }

func (n *Node) Name() string {
	name := n.MustBe("a name").Written
	n.MustBeName(name)
	return name
}

func (p Position) MustBeName(name string) {
	if !IsName(name) {
		p.Refuse("`%s` is not a name: letters, digits and _, not starting with a digit", name)
	}
}

func (n *Node) OneOf(what string, words ...string) string {
	word := n.Text()
	if !slices.Contains(words, word) {
		n.RefuseHint(NearestOrAll(word, "there are", words), "unknown %s `%s`", what, word)
		return ""
	}
	return word
}

// Mapped returns the entries of a mapping in order; a nil node has none. form describes the mapping in the message
// about a node of another kind.
func (n *Node) Mapped(form string) []Entry {
	if n == nil {
		return nil
	}
	if n.Kind != Mapping {
		n.Refuse("%s; this is %s", form, n.Kind)
	}
	return n.Entries
}

// List returns the items of a list node. A nil node has no items.
func (n *Node) List(what string) []*Node {
	if n == nil {
		return nil
	}
	if n.Kind != List {
		n.Refuse("%s must be a list; this is %s", what, n.Kind)
	}
	return n.Items
}

// The type Fields maps the keys of a YAML mapping to their values.
type Fields map[string]*Node

// The method Fields returns the values of a mapping by key, and refuses keys that the argument keys lacks; in keys,
// true marks required keys.
func (n *Node) Fields(what string, keys map[string]bool) Fields {
	if n == nil {
		return nil
	}
	names := slices.Sorted(maps.Keys(keys))
	values := Fields{}
	for _, e := range n.Mapped(what + " must be a mapping with the keys " + strings.Join(names, ", ")) {
		if _, known := keys[e.Key]; !known && !n.Failed() {
			e.RefuseHint(NearestOrAll(e.Key, what+" has the keys", names), "unknown key `%s`", e.Key)
		}
		if e.Value.Kind == Nothing {
			e.Refuse("`%s` has no value", e.Key)
		}
		values[e.Key] = e.Value
	}
	for _, name := range names {
		if keys[name] && values[name] == nil {
			n.Refuse("%s lacks the key `%s`", what, name)
			values[name] = n.Named("") // an empty value, because readers rely on the key
		}
	}
	return values
}

func (f Fields) None(because string, keys ...string) {
	for _, key := range keys {
		if f[key] != nil {
			f[key].Refuse("`%s` has no place here: %s", key, because)
		}
	}
}

func Optional[T any](n *Node, read func(*Node) T, otherwise T) T {
	if n == nil {
		return otherwise
	}
	return read(n)
}

func Pointer[T any](n *Node, read func(*Node) T) *T {
	if n == nil {
		return nil
	}
	v := read(n)
	return &v
}
