package expr

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokNumber
	tokString
	tokName
	tokSymbol // operators, parentheses and the words and, or, not, in, if, else
)

type token struct {
	kind   tokenKind
	text   string // as in the source; for a string its content
	value  Value  // of a number
	column int
}

// String returns the token as error messages show it.
func (t token) String() string {
	switch t.kind {
	case tokEnd:
		return "the end"
	case tokString:
		return "the string " + quoted(t.text)
	}
	return "'" + t.text + "'"
}

// lexer splits an expression into tokens, one at a time.
type lexer struct {
	source string
	pos    int  // byte offset of the rest
	column int  // the position in characters, 1-based
	open   bool // names may contain `$`, and functions may have any name
}

// symbols lists the operators of expressions, and symbols of other languages that users may write by mistake. In the
// list `symbols`, the longer of two symbols with a common beginning comes first.
var symbols = []string{"**", "//", "==", "!=", "<=", ">=", "<>", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", ",",
	"!", "=", "?", "&", "|", "^", "{", "."}

// mistaken maps symbols of other languages to a text that says what to write instead.
var mistaken = map[string]string{
	"&&": "write 'and'", "||": "write 'or'", "!": "write 'not'", "=": "write '==' to compare",
	"?": "write 'a if condition else b'", "<>": "write '!='", "&": "write 'and'", "|": "write 'or'",
	"^": "write '**' for a power", "{": "write a list as [1, 2]", ".": "names have no dots",
}

var words = map[string]bool{"and": true, "or": true, "not": true, "in": true, "if": true, "else": true}

// fail stops parsing by a panic with a *SyntaxError, which catch turns into an error.
func (l *lexer) fail(column int, format string, args ...any) {
	panic(&SyntaxError{fault{l.source, column, fmt.Sprintf(format, args...)}})
}

// A function that may call fail defers catch, which turns the panic of fail into an error.
func catch(err *error) {
	switch problem := recover().(type) {
	case nil:
	case *SyntaxError:
		*err = problem
	default:
		panic(problem)
	}
}

func (l *lexer) advance(bytes int) string {
	text := l.source[l.pos : l.pos+bytes]
	l.pos += bytes
	l.column += utf8.RuneCountInString(text)
	return text
}

// next returns the next token, which is a tokEnd token at the end of the text.
func (l *lexer) next() token {
	for l.pos < len(l.source) && strings.IndexByte(" \t\r\n", l.source[l.pos]) >= 0 {
		l.advance(1)
	}
	t := token{column: l.column} // save the column before advance changes it
	rest := l.source[l.pos:]
	switch {
	case rest == "":
	case isDigit(rest[0]) || rest[0] == '.' && len(rest) > 1 && isDigit(rest[1]):
		t.kind = tokNumber
		t.text, t.value = l.number()
	case rest[0] == '\'' || rest[0] == '"':
		t.kind, t.text = tokString, l.quoted()
	case l.nameLength(rest) > 0:
		t.kind, t.text = tokName, l.advance(l.nameLength(rest))
		if words[t.text] {
			t.kind = tokSymbol
		}
	default:
		t.kind, t.text = tokSymbol, l.symbol()
	}
	return t
}

func (l *lexer) symbol() string {
	rest := l.source[l.pos:]
	for _, s := range symbols {
		if !strings.HasPrefix(rest, s) {
			continue
		}
		if right, wrong := mistaken[s]; wrong {
			l.fail(l.column, "'%s' is no operator here: %s", s, right)
		}
		return l.advance(len(s))
	}
	r, _ := utf8.DecodeRuneInString(rest)
	l.fail(l.column, "unexpected character %q", r)
	return ""
}

func (l *lexer) nameLength(s string) int {
	for i, r := range s {
		if r != '_' && (r != '$' || !l.open) && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return i
		}
	}
	return len(s)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// numeral matches 12, 1_000, 0x1f, 0.5, .5, 2. and 1e3.
var numeral = regexp.MustCompile(`^(0[xXbBoO][0-9a-fA-F_]+|[0-9_]*(\.[0-9_]*)?([eE][+-]?[0-9][0-9_]*)?)`)

func (l *lexer) number() (string, Value) {
	column := l.column
	text := l.advance(len(numeral.FindString(l.source[l.pos:])))
	if k := l.nameLength(l.source[l.pos:]); k > 0 {
		l.fail(l.column, "%q follows the number %s: put an operator between them", l.source[l.pos:l.pos+k], text)
	}
	v, err := parseNumber(text)
	if f, _ := v.AsFloat(); err != nil && !math.IsInf(f, 0) { // a number too large for a float is infinite, as in Python
		l.fail(column, "%v", err)
	}
	return text, v
}

// quoted reads a string in single or double quotes.
func (l *lexer) quoted() string {
	column := l.column
	quote := l.advance(1)
	var b strings.Builder
	for l.pos < len(l.source) {
		switch c := l.source[l.pos]; c {
		case quote[0]:
			l.advance(1)
			return b.String()
		case '\n':
			l.fail(column, "the string is not closed on its line: add %s", quote)
		case '\\':
			b.WriteByte(l.escape())
		default:
			_, size := utf8.DecodeRuneInString(l.source[l.pos:])
			b.WriteString(l.advance(size))
		}
	}
	l.fail(column, "the string is not closed: add %s", quote)
	return ""
}

func (l *lexer) escape() byte {
	known := `\'"nt`
	i := -1
	if l.pos+1 < len(l.source) {
		i = strings.IndexByte(known, l.source[l.pos+1])
	}
	if i < 0 {
		l.fail(l.column, `unknown escape: strings know \\, \', \", \n and \t`)
	}
	l.advance(2)
	return "\\'\"\n\t"[i]
}

// quote writes s as a string literal that the lexer reads back.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`).Replace(s) + "'"
}
