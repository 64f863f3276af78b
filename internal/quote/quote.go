// Package quote writes untrusted text into generated code as a string, a comment or a docstring. Whatever a quoted text
// contains, it is a single token of the generated language, so no part of the text becomes code.
//
// Names are checked instead of quoted: IsName accepts only identifiers of all languages that autotune generates. All
// generators of code in autotune quote text by functions of package quote.
package quote

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"autotune/internal/output"
)

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// IsName tells whether text has the form of an identifier of C, C++, Python and YAML. IsName does not exclude keywords.
func IsName(text string) bool { return nameForm.MatchString(text) }

// keywords are Python's keywords, which are no valid names.
var keywords = strings.Fields("False None True and as assert async await break class continue def del elif else except finally for from global " +
	"if import in is lambda nonlocal not or pass raise return try while with yield __debug__")

// IsPythonName tells whether text is a valid name in Python.
func IsPythonName(text string) bool { return IsName(text) && !slices.Contains(keywords, text) }

// Python writes text as a Python string literal. Python replaces bytes that are not UTF-8 by U+FFFD.
func Python(text string) string {
	return strconv.Quote(strings.ToValidUTF8(text, "\uFFFD")) // whose escapes Python has, too
}

// PythonDoc writes text as a one-line docstring. PythonDoc replaces double quotes by single quotes.
func PythonDoc(text string) string {
	quoted := Python(strings.ReplaceAll(text, `"`, "'"))
	return `""` + quoted + `""`
}

// PythonFormat returns what to write inside a double-quoted f-string so that the f-string contains text.
func PythonFormat(text string) string {
	quoted := Python(text)
	return strings.NewReplacer("{", "{{", "}", "}}").Replace(quoted[1 : len(quoted)-1])
}

// oneLine is like output.Line, but it keeps the leading spaces, which align comments in columns.
func oneLine(text string) string {
	return strings.Repeat(" ", len(text)-len(strings.TrimLeft(text, " "))) + output.Line(text)
}

// codingForm matches a declaration of the file's encoding, which Python reads from comments in its first two lines.
var codingForm = regexp.MustCompile(`coding[:=]`)

// PythonComment makes text safe to be written behind the # of a Python comment. A space inside "coding:", which would
// declare the file's encoding, makes Python ignore the declaration.
func PythonComment(text string) string {
	return codingForm.ReplaceAllStringFunc(oneLine(text), func(found string) string { return "coding " + found[len("coding"):] })
}

// C writes text as a string literal of C and C++ that contains no trigraph.
func C(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch part := text[i : i+size]; {
		case r == '?' && strings.HasSuffix(b.String(), "?"):
			b.WriteString(`\?`)
		case r == utf8.RuneError && size == 1, !strconv.IsPrint(r) && !strings.ContainsRune("\a\b\f\n\r\t\v", r):
			for _, c := range []byte(part) {
				fmt.Fprintf(&b, `\%03o`, c) // always three digits, because a digit may follow
			}
		default:
			quoted := strconv.Quote(part)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	b.WriteByte('"')
	return b.String()
}

// CComment makes text safe to be written between the /* and */ of a comment, with a space on either side.
func CComment(text string) string {
	return strings.NewReplacer("*/", "* /", "/*", "/ *").Replace(oneLine(text))
}

// CLine makes text safe to be written behind the // of a comment in C. CLine replaces backslashes, since a backslash at
// the end would continue the comment on the next line, and question marks that could form the trigraph of a backslash.
func CLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\\' {
			return ' '
		}
		return r
	}, strings.ReplaceAll(oneLine(text), "??/", "?? /"))
}

// plainForm matches text that needs no quotes in YAML, even within braces.
var plainForm = regexp.MustCompile(`^-?[A-Za-z0-9_(][A-Za-z0-9_ .+*/()<=>-]*$`)

// YAML writes text as a YAML scalar, in double quotes where they are needed.
func YAML(text string) string {
	if plainForm.MatchString(text) && !strings.HasSuffix(text, " ") {
		return text
	}
	return YAMLString(text)
}

func YAMLString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// YAMLComment makes text safe in a YAML comment, which begins with # and a space.
func YAMLComment(text string) string { return output.Line(text) }
