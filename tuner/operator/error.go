package operator

import (
	"fmt"
	"strings"

	"autotune/internal/spelling"
)

// Error is a fault in an operator's files. It says where the fault is, why it
// is one, and what was probably meant.
type Error struct {
	File    string
	Line    int // 1-based; 0 when the fault has no place in the file
	Column  int // 1-based
	Message string
	Hint    string // what would be right, as "did you mean `tunables`?"
	By      string // where the file is included; "": nowhere
}

// Error is one line, as "op.yaml:12:5: unknown key `tunable`; did you mean `tunables`?".
func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
	message := e.Message
	if e.By != "" {
		message += " (included at " + e.By + ")"
	}
	return sentence(where, message, e.Hint)
}

// sentence puts an error's parts into one line; where and hint may be empty.
func sentence(where, message, hint string) string {
	message = shorten(message)
	if where != "" {
		message = where + ": " + message
	}
	if hint != "" {
		message += "; " + hint
	}
	return message
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

func (e *RequestError) Error() string { return sentence(e.Operator, e.Message, e.Hint) }

// catch ends a panic with a fault of type E, which becomes the error.
func catch[E error](err *error) {
	switch r := recover().(type) {
	case nil:
	case E:
		*err = r
	default:
		panic(r)
	}
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
