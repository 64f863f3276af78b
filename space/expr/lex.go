package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError says where an expression is malformed and what would be right.
type SyntaxError struct {
	Source  string
	Column  int // 1-based, in characters
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%q, column %d: %s", shorten(e.Source), e.Column, e.Message)
}

// shorten keeps error messages on one line.
func shorten(src string) string {
	const most = 200
	if len(src) <= most {
		return src
	}
	cut := most
	for !utf8.RuneStart(src[cut]) {
		cut--
	}
	return src[:cut] + "..."
}

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
	text   string // as written; a string's is its content
	value  Value  // of numbers
	column int
}

// String shows the token in an error message.
func (t token) String() string {
	switch t.kind {
	case tokEnd:
		return "the end"
	case tokString:
		return "the string " + quote(t.text)
	}
	return "'" + t.text + "'"
}

// lexer cuts an expression into tokens, one at a time.
type lexer struct {
	source string
	pos    int // byte offset of what follows
	column int // the same in characters, 1-based
}

// symbols lists the operators, longer ones before their beginnings.
var symbols = []string{"**", "//", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", ","}

// mistaken maps what other languages write to what to write here.
var mistaken = []struct{ wrote, right string }{
	{"&&", "write 'and'"}, {"||", "write 'or'"}, {"!", "write 'not'"}, {"=", "write '==' to compare"},
	{"?", "write 'a if condition else b'"}, {"<>", "write '!='"}, {"&", "write 'and'"}, {"|", "write 'or'"},
	{"^", "write '**' for a power"}, {"{", "write a list as [1, 2]"}, {".", "names have no dots"},
}

var words = map[string]bool{"and": true, "or": true, "not": true, "in": true, "if": true, "else": true}

func (l *lexer) errorf(column int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Source: l.source, Column: column, Message: fmt.Sprintf(format, args...)}
}

func (l *lexer) advance(bytes int) string {
	text := l.source[l.pos : l.pos+bytes]
	l.pos += bytes
	l.column += utf8.RuneCountInString(text)
	return text
}

// next returns the next token; a tokEnd token at the end.
func (l *lexer) next() (token, error) {
	for l.pos < len(l.source) && strings.IndexByte(" \t\r\n", l.source[l.pos]) >= 0 {
		l.advance(1)
	}
	if l.pos == len(l.source) {
		return token{kind: tokEnd, column: l.column}, nil
	}
	rest := l.source[l.pos:]
	c := rest[0]
	switch {
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return l.number()
	case c == '\'' || c == '"':
		return l.quoted(c)
	}
	if n := nameLength(rest); n > 0 {
		return l.name(n), nil
	}
	return l.symbol(rest)
}

func (l *lexer) symbol(rest string) (token, error) {
	for _, s := range symbols {
		if strings.HasPrefix(rest, s) {
			if s == "<" && strings.HasPrefix(rest, "<>") {
				break
			}
			column := l.column // read before advance moves it
			return token{kind: tokSymbol, column: column, text: l.advance(len(s))}, nil
		}
	}
	for _, m := range mistaken {
		if strings.HasPrefix(rest, m.wrote) {
			return token{}, l.errorf(l.column, "'%s' is no operator here: %s", m.wrote, m.right)
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return token{}, l.errorf(l.column, "unexpected character %q", r)
}

func (l *lexer) name(length int) token {
	t := token{kind: tokName, column: l.column}
	t.text = l.advance(length)
	if words[t.text] {
		t.kind = tokSymbol
	}
	return t
}

func nameLength(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return i
		}
	}
	return len(s)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// number reads 12, 1_000, 0x1f, 0.5, .5, 2. and 1e3.
func (l *lexer) number() (token, error) {
	rest := l.source[l.pos:]
	n := numberLength(rest)
	column := l.column
	text := l.advance(n)
	if k := nameLength(l.source[l.pos:]); k > 0 {
		return token{}, l.errorf(l.column, "%q follows the number %s: put an operator between them", l.source[l.pos:l.pos+k], text)
	}
	v, problem := readNumber(text)
	if problem != "" {
		return token{}, l.errorf(column, "%s %s", text, problem)
	}
	return token{kind: tokNumber, text: text, value: v, column: column}, nil
}

func numberLength(s string) int {
	if len(s) > 2 && s[0] == '0' && strings.IndexByte("xXbBoO", s[1]) >= 0 {
		n := 2
		for n < len(s) && (isDigit(s[n]) || s[n] == '_' || 'a' <= s[n]|0x20 && s[n]|0x20 <= 'f') {
			n++
		}
		return n
	}
	n := digits(s, 0)
	if n < len(s) && s[n] == '.' {
		n = digits(s, n+1)
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		k := n + 1
		if k < len(s) && (s[k] == '+' || s[k] == '-') {
			k++
		}
		if k < len(s) && isDigit(s[k]) {
			n = digits(s, k)
		}
	}
	return n
}

func digits(s string, n int) int {
	for n < len(s) && (isDigit(s[n]) || s[n] == '_') {
		n++
	}
	return n
}

func readNumber(text string) (Value, string) {
	plain := strings.ReplaceAll(text, "_", "")
	if strings.HasSuffix(text, "_") || strings.Contains(text, "__") {
		return Value{}, "is malformed: '_' stands between digits"
	}
	prefixed := len(plain) > 1 && plain[0] == '0' && strings.IndexByte("xXbBoO", plain[1]) >= 0
	if !prefixed && strings.ContainsAny(plain, ".eE") {
		f, err := strconv.ParseFloat(plain, 64)
		if err != nil && f == 0 { // out of range gives an infinity, as in Python
			return Value{}, "is malformed"
		}
		return Float(f), ""
	}
	if !prefixed && len(plain) > 1 && plain[0] == '0' && strings.Trim(plain, "0") != "" {
		return Value{}, "has a leading zero: write it without"
	}
	base := 10
	if prefixed {
		base = 0
	}
	i, err := strconv.ParseInt(plain, base, 64)
	if err != nil {
		return Value{}, "is no int of 64 bits"
	}
	return Int(i), ""
}

// quoted reads a string in single or double quotes.
func (l *lexer) quoted(q byte) (token, error) {
	column := l.column
	l.advance(1)
	var b strings.Builder
	for l.pos < len(l.source) {
		switch c := l.source[l.pos]; {
		case c == q:
			l.advance(1)
			return token{kind: tokString, text: b.String(), column: column}, nil
		case c == '\n':
			return token{}, l.errorf(column, "the string is not closed on its line: add %c", q)
		case c == '\\':
			s, err := l.escape()
			if err != nil {
				return token{}, err
			}
			b.WriteString(s)
		default:
			_, size := utf8.DecodeRuneInString(l.source[l.pos:])
			b.WriteString(l.advance(size))
		}
	}
	return token{}, l.errorf(column, "the string is not closed: add %c", q)
}

func (l *lexer) escape() (string, error) {
	if l.pos+1 < len(l.source) {
		if i := strings.IndexByte(`\'"nt`, l.source[l.pos+1]); i >= 0 {
			l.advance(2)
			return "\\'\"\n\t"[i : i+1], nil
		}
	}
	return "", l.errorf(l.column, `unknown escape: strings know \\, \', \", \n and \t`)
}

// quote writes s so that the lexer reads it back.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`).Replace(s) + "'"
}
