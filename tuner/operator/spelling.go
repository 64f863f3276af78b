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

// overAxes are the functions that take one value an axis, and how their values are put together.
var overAxes = map[string]string{"all": " and ", "any": " or ", "product": "*", "max": ", ", "min": ", "}

// forAxis writes a text for one axis.
func forAxis(text, axis string) string { return strings.ReplaceAll(text, "$", axis) }

// eachAxis gives an item of a list for each axis, where its text is of an axis.
func (l *loader) eachAxis(n ast.Node) []ast.Node {
	s, ok := n.(*ast.StringNode)
	if !ok || len(l.o.Axes) == 0 || !strings.Contains(l.spell(s.Value, at(n), 0), "$") || strings.Contains(s.Value, "{") {
		return []ast.Node{n}
	}
	var nodes []ast.Node
	for _, axis := range l.o.Axes {
		one := *s
		one.Value = forAxis(s.Value, axis)
		nodes = append(nodes, &one)
	}
	return nodes
}

// eachEntry gives an entry for each axis, where its key is of an axis.
func (l *loader) eachEntry(e entry) []entry {
	if !strings.Contains(e.key, "$") || len(l.o.Axes) == 0 {
		return []entry{e}
	}
	var entries []entry
	for _, axis := range l.o.Axes {
		value := e.value
		if s, ok := value.(*ast.StringNode); ok {
			one := *s
			one.Value = forAxis(s.Value, axis)
			value = &one
		}
		entries = append(entries, entry{e.Position, forAxis(e.key, axis), value})
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
		switch {
		case named && one.parameters == nil:
			b.WriteString("(" + l.spell(one.body, where, nested+1) + ")")
		case named || over && strings.HasPrefix(rest, "("):
			arguments, after, ok := argumentsOf(rest)
			if !ok || named && len(arguments) != len(one.parameters) {
				l.fail(where, "`%s` takes %d arguments in brackets", word, len(one.parameters))
			}
			for i := range arguments {
				arguments[i] = l.spell(arguments[i], where, nested+1)
			}
			if named {
				b.WriteString("(" + l.spell(substituted(one, arguments), where, nested+1) + ")")
			} else {
				b.WriteString(l.folded(word, joint, arguments))
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

// substituted is a function's body with arguments in place of its parameters.
func substituted(f let, arguments []string) string {
	return wordForm.ReplaceAllStringFunc(f.body, func(word string) string {
		if i := slices.Index(f.parameters, word); i >= 0 {
			return "(" + arguments[i] + ")"
		}
		return word
	})
}

// folded puts a function's arguments together, those of an axis for each of the axes.
func (l *loader) folded(name, joint string, arguments []string) string {
	var all []string
	for _, a := range arguments {
		if !strings.Contains(a, "$") {
			all = append(all, a)
			continue
		}
		for _, axis := range l.o.Axes {
			all = append(all, forAxis(a, axis))
		}
	}
	if joint == ", " {
		return fmt.Sprintf("%s(%s)", name, strings.Join(all, joint))
	}
	if joint != "*" || strings.ContainsAny(strings.Join(all, ""), " +-/%") {
		for i := range all {
			all[i] = "(" + all[i] + ")"
		}
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
		for _, axis := range l.o.Axes {
			all = append(all, forAxis(braced, axis))
		}
		return strings.Join(all, "x")
	})
}

var bracesForm = regexp.MustCompile(`\{[^{}]*\}`)
