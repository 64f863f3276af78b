package operator

import (
	"iter"
	"strings"
)

// identifier is a name within an expression's text.
type identifier struct {
	name       string
	start, end int // bytes
}

// identifiers finds the names in an expression: not those in strings, not the
// letters of numbers as 1e5.
func identifiers(text string) iter.Seq[identifier] {
	return func(yield func(identifier) bool) {
		for i := 0; i < len(text); {
			start := i
			switch c := text[i]; {
			case c == '\'' || c == '"':
				i = afterString(text, i)
			case isDigit(c) || c == '.' && i+1 < len(text) && isDigit(text[i+1]):
				for i < len(text) && (isDigit(text[i]) || isLetter(text[i]) || text[i] == '.') {
					i++
				}
			case isLetter(c):
				for i < len(text) && (isDigit(text[i]) || isLetter(text[i])) {
					i++
				}
				if !yield(identifier{text[start:i], start, i}) {
					return
				}
			default:
				i++
			}
		}
	}
}

// afterString is the index after the string literal that starts at i.
func afterString(text string, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case text[i]:
			return j + 1
		}
	}
	return len(text)
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

// substitute puts the text of definitions, in parentheses, in place of their
// names. The definitions must not hold each other's names any more.
func substitute(text string, definitions map[string]string) string {
	var b strings.Builder
	last := 0
	for id := range identifiers(text) {
		if definition, ok := definitions[id.name]; ok {
			b.WriteString(text[last:id.start] + "(" + definition + ")")
			last = id.end
		}
	}
	b.WriteString(text[last:])
	return b.String()
}
