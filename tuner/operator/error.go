package operator

import (
	"fmt"
	"strings"

	"autotune/internal/spelling"
)

// Error is a fault in an operator's files: what is wrong, where, and what was
// probably meant.
type Error struct {
	File    string
	Line    int // 1-based; 0 when the fault has no place in the file
	Column  int // 1-based
	Message string
	Hint    string // what would be right, as "did you mean `tunables`?"
}

// Error is one line, as "op.yaml:12:5: unknown key `tunable`; did you mean `tunables`?".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": " + shorten(e.Message))
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// shorten keeps a message that quotes the file's or a user's text to a few lines
// of a terminal, and to one line of output.
func shorten(message string) string {
	const most = 400
	message = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, message)
	if runes := []rune(message); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return message
}

// RequestError is a fault in what a user asked of an operator: its name, shape,
// parameters or math mode.
type RequestError struct {
	Operator string // "" when no operator is named so
	Message  string
	Hint     string
}

func (e *RequestError) Error() string {
	message := shorten(e.Message)
	if e.Operator != "" {
		message = e.Operator + ": " + message
	}
	if e.Hint != "" {
		message += "; " + e.Hint
	}
	return message
}

// didYouMean is a hint with the name nearest to word, or "" when none is near.
func didYouMean(word string, names []string) string {
	near := spelling.Nearest(word, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean `%s`?", near)
}

// nearestOrAll is didYouMean, or the list of all names when none is near.
func nearestOrAll(word, what string, names []string) string {
	if hint := didYouMean(word, names); hint != "" {
		return hint
	}
	if len(names) == 0 {
		return ""
	}
	return what + " " + strings.Join(names, ", ")
}
