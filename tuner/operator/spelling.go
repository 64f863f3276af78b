package operator

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Two things make formulas short: `$` stands for each of the operator's `axes`, and `let` names
// values and functions. Both are spelled out here, before a formula is parsed.

// let is a named value, or a function of its parameters. It is no macro.
type let struct {
	parameters []string
	body       string
}

var letForm = regexp.MustCompile(`^([A-Za-z_]\w*)(?:\(([A-Za-z_]\w*(?:, *[A-Za-z_]\w*)*)\))?$`)

// lets reads named values and functions.
func (l *loader) letThem(n ast.Node, s scope) {
	for _, e := range l.entriesOf(n, "let must be a mapping of names, or of functions as `rounded(x, to)`, to expressions") {
		parts := letForm.FindStringSubmatch(e.key)
		if parts == nil {
			l.fail(e.Position, "`%s` is neither a name nor a function as `rounded(x, to)`", e.key)
		}
		name := parts[1]
		if what := s[name]; what != "" || slices.Contains(reserved, name) {
			l.fail(e.Position, "`%s` of `let` has the name of something else", name)
		}
		_, body := l.scalar(e.value, "an expression")
		one := let{body: body}
		if parts[2] != "" {
			one.parameters = regexp.MustCompile(`, *`).Split(parts[2], -1)
		}
		l.lets[name] = one
	}
}

func (l *loader) entriesOf(n ast.Node, want string) []entry {
	if n == nil {
		return nil
	}
	return l.entries(n, want)
}

// axesNames reads what `$` stands for.
func (l *loader) axesNames(n ast.Node) []string { return l.names(n, "axes", func(ast.Node, string) {}) }

// overAxes are the functions that take one value an axis, and how their values are put together.
var overAxes = map[string]string{"all": " and ", "any": " or ", "product": "*", "max": ", ", "min": ", "}

// forAxis writes a text for one axis.
func forAxis(text, axis string) string { return strings.ReplaceAll(text, "$", axis) }

// nodeFor writes a text of the file for one axis.
func nodeFor(n ast.Node, axis string) ast.Node {
	switch n := n.(type) {
	case *ast.StringNode:
		one := *n
		one.Value = forAxis(n.Value, axis)
		return &one
	case *ast.LiteralNode:
		one, text := *n, *n.Value
		text.Value = forAxis(text.Value, axis)
		one.Value = &text
		return &one
	}
	return n
}

// eachAxis gives an item of a list for each axis, where its text is of an axis.
func (l *loader) eachAxis(n ast.Node) []ast.Node {
	_, text, ok := scalar(n)
	if !ok || len(l.along) == 0 || !strings.Contains(l.spell(text, at(n), 0), "$") || strings.Contains(text, "{") {
		return []ast.Node{n}
	}
	var nodes []ast.Node
	for _, axis := range l.along {
		nodes = append(nodes, nodeFor(n, axis))
	}
	return nodes
}

// eachEntry gives an entry for each axis, where its key is of an axis.
func (l *loader) eachEntry(e entry) []entry {
	if !strings.Contains(e.key, "$") || len(l.along) == 0 {
		return []entry{e}
	}
	var entries []entry
	for _, axis := range l.along {
		entries = append(entries, entry{e.Position, forAxis(e.key, axis), nodeFor(e.value, axis)})
	}
	return entries
}

var wordForm = regexp.MustCompile(`'[^']*'|"[^"]*"|[A-Za-z_$][\w$]*|\d[\w.]*`)

const (
	mostSpelled = 1 << 14 // characters of an expression that is spelled out
	mostNested  = 32      // values of `let` within each other
)

// spell writes an expression out: what `let` names, and functions over all axes.
func (l *loader) spell(text string, where Position, nested int) string {
	if nested > mostNested {
		l.fail(where, "`%s`: the values of `let` need each other", text)
	}
	var b strings.Builder
	for text != "" {
		span := wordForm.FindStringIndex(text)
		if span == nil {
			b.WriteString(text)
			break
		}
		word, rest := text[span[0]:span[1]], text[span[1]:]
		b.WriteString(text[:span[0]])
		one, named := l.lets[word]
		joint, over := overAxes[word]
		over = over && (l.within == 0 || joint != ", ")
		switch {
		case named && one.parameters == nil:
			b.WriteString(bracketed(l.spell(one.body, where, nested+1)))
		case named || over && strings.HasPrefix(rest, "("):
			arguments, after, ok := argumentsOf(rest)
			if !ok || named && len(arguments) != len(one.parameters) {
				l.fail(where, "`%s` takes %d arguments in brackets", word, len(one.parameters))
			}
			if named {
				b.WriteString("(" + l.spell(substituted(one, arguments), where, nested+1) + ")")
			} else {
				b.WriteString(folded(word, joint, l.forAxes(arguments, where, nested), b.Len() == 0 && after == ""))
			}
			rest = after
		default:
			b.WriteString(word)
		}
		if text = rest; b.Len() > mostSpelled {
			l.fail(where, "an expression of more than %d characters, spelled out", mostSpelled)
		}
	}
	return b.String()
}

// bracketed puts an expression into brackets, unless it is one word.
func bracketed(text string) string {
	if wordForm.FindString(text) == text {
		return text
	}
	return "(" + text + ")"
}

// substituted is a function's body with arguments in place of its parameters.
func substituted(f let, arguments []string) string {
	return wordForm.ReplaceAllStringFunc(f.body, func(word string) string {
		if i := slices.Index(f.parameters, word); i >= 0 {
			return bracketed(arguments[i])
		}
		return word
	})
}

// forAxes spells out arguments; one that is of an axis it gives for each of the axes. An all, any or
// product within it has its own axes, a max or min is of the same axis.
func (l *loader) forAxes(arguments []string, where Position, nested int) []string {
	var all []string
	for _, a := range arguments {
		l.within++
		a = l.spell(a, where, nested+1)
		l.within--
		if !strings.Contains(a, "$") {
			all = append(all, a)
			continue
		}
		for _, axis := range l.along {
			all = append(all, l.spell(forAxis(a, axis), where, nested+1))
		}
	}
	return all
}

// folded puts a function's arguments together. Alone it needs no brackets.
func folded(name, joint string, all []string, alone bool) string {
	if joint == ", " && len(all) > 1 {
		return fmt.Sprintf("%s(%s)", name, strings.Join(all, joint))
	}
	for i, one := range all {
		if joint == "*" && strings.ContainsAny(one, " +-/%") || strings.Contains(one, " or ") || strings.Contains(one, " if ") {
			all[i] = "(" + one + ")"
		}
	}
	if alone || len(all) == 1 && !strings.ContainsAny(all[0], " +-*/%") {
		return strings.Join(all, joint)
	}
	return "(" + strings.Join(all, joint) + ")"
}

// argumentsOf takes the arguments in brackets from the beginning of a text.
func argumentsOf(text string) (arguments []string, after string, ok bool) {
	if !strings.HasPrefix(text, "(") {
		return nil, "", false
	}
	depth, start := 0, 1
	for i := range len(text) {
		switch text[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 1 {
				arguments, start = append(arguments, strings.TrimSpace(text[start:i])), i+1
			}
		}
		if depth == 0 {
			return append(arguments, strings.TrimSpace(text[start:i])), text[i+1:], true
		}
	}
	return nil, "", false
}

// byAxes writes out {expressions} of a text that are of an axis, as 3x5.
func (l *loader) byAxes(text string) string {
	return bracesForm.ReplaceAllStringFunc(text, func(braced string) string {
		if !strings.Contains(braced, "$") || !strings.Contains(l.spell(braced[1:len(braced)-1], Position{}, 0), "$") {
			return braced
		}
		var all []string
		for _, axis := range l.along {
			all = append(all, forAxis(braced, axis))
		}
		return strings.Join(all, "x")
	})
}

var bracesForm = regexp.MustCompile(`\{[^{}]*\}`)
