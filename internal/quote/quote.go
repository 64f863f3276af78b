// Package quote writes text of others into generated code: as a string, as a comment, as a
// docstring. Whatever the text is, it stays one token of the language, so nothing of it becomes code.
//
// A name is not quoted but checked: IsName is the form that every language here takes as an
// identifier. All code that this program generates takes text from here.
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

// IsName tells whether text is an identifier of C, C++, Python and YAML, unless the language has the word for
// itself.
func IsName(text string) bool { return nameForm.MatchString(text) }

// keywords are Python's: no name may be one.
var keywords = strings.Fields("False None True and as assert async await break class continue def del elif else except finally for from global " +
	"if import in is lambda nonlocal not or pass raise return try while with yield __debug__")

// IsPythonName tells whether text can be a name in Python.
func IsPythonName(text string) bool { return IsName(text) && !slices.Contains(keywords, text) }

// Python is a string literal of Python. Bytes that are no UTF-8 become U+FFFD.
func Python(text string) string {
	return strconv.Quote(strings.ToValidUTF8(text, "\uFFFD")) // whose escapes Python has, too
}

// PythonDoc is a docstring on one line. Double quotes become single ones.
func PythonDoc(text string) string {
	quoted := Python(strings.ReplaceAll(text, `"`, "'"))
	return `""` + quoted + `""`
}

// PythonFormat is the inside of an f-string in double quotes that stands for the text itself.
func PythonFormat(text string) string {
	quoted := Python(text)
	return strings.NewReplacer("{", "{{", "}", "}}").Replace(quoted[1 : len(quoted)-1])
}

// oneLine is output.Line with the spaces that text begins with: comments have columns.
func oneLine(text string) string {
	return strings.Repeat(" ", len(text)-len(strings.TrimLeft(text, " "))) + output.Line(text)
}

// codingForm is what Python takes in its first two lines as the name of the file's encoding.
var codingForm = regexp.MustCompile(`coding[:=]`)

// PythonComment is what may stand behind #. Python reads the name of an encoding from comments, so a space
// parts what would be one.
func PythonComment(text string) string {
	return codingForm.ReplaceAllStringFunc(oneLine(text), func(found string) string { return "coding " + found[len("coding"):] })
}

// C is a string literal of C and C++, without what is a trigraph there.
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
				fmt.Fprintf(&b, `\%03o`, c) // three digits, whatever follows
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

// CComment is what may stand between /* and */, with a space on either side.
func CComment(text string) string {
	return strings.NewReplacer("*/", "* /", "/*", "/ *").Replace(oneLine(text))
}

// CLine is what may stand behind //. A backslash at its end would take the next line into the comment, and
// an early compiler reads one from a trigraph.
func CLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\\' {
			return ' '
		}
		return r
	}, strings.ReplaceAll(oneLine(text), "??/", "?? /"))
}

// plainForm is text that YAML takes as it stands, within braces too.
var plainForm = regexp.MustCompile(`^-?[A-Za-z0-9_(][A-Za-z0-9_ .+*/()<=>-]*$`)

// YAML is a scalar of YAML: plain where it can be, and else in double quotes.
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

// YAMLComment is what may stand behind # and a space.
func YAMLComment(text string) string { return output.Line(text) }
