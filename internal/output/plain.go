package output

import (
	"io"
	"strings"
	"unicode"
)

// Line is text of any origin as one line that a terminal only shows: what would
// move its cursor, change its colours, end the line or turn the writing round
// becomes a space.
func Line(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if harmless(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// harmless tells whether a terminal shows a rune and does no more.
func harmless(r rune) bool {
	return !unicode.IsControl(r) && !unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// Plain is a writer of lines and columns that lets only harmless text through,
// for what may hold names and messages that others wrote.
func Plain(w io.Writer) io.Writer { return plainWriter{w} }

type plainWriter struct{ w io.Writer }

func (p plainWriter) Write(text []byte) (int, error) {
	shown := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || harmless(r) {
			return r
		}
		return ' '
	}, string(text))
	if _, err := io.WriteString(p.w, shown); err != nil {
		return 0, err
	}
	return len(text), nil
}
