// Package tree reads files that are written by hand, op.yaml and lists of problems, as trees of nodes that know
// their places. They use little of YAML: mappings, lists and scalars, but no anchors, tags or further documents.
package tree

import (
	"cmp"
	"fmt"
	"strings"

	"autotune/internal/spelling"
)

// Error is a fault in an operator's files. It says where the fault is, why it is one, and what was probably meant.
type Error struct {
	Position
	Message string
	Hint    string // what would be right, as "did you mean `tunables`?"
}

type Position struct {
	File   string
	Line   int    // 1-based; 0: no place of the file's
	Column int    // 1-based
	By     string // where the file is included; "": nowhere

	faults *Faults // of the reading that the place is part of
}

// Faults keeps the first fault that a reading finds. What reads does not stop there: it goes on with empty values, which
// nobody sees, and whoever began the reading asks for Err at its end. Failed is for what would take long until then,
// or needs more than empty values.
type Faults struct{ first *Error }

func (s *Faults) At(file string, line, column int) Position {
	return Position{File: file, Line: line, Column: column, faults: s}
}

func (s *Faults) Failed() bool { return s.first != nil }

// Err is the first fault, an *Error; nil if there is none.
func (s *Faults) Err() error {
	if s.first == nil {
		return nil
	}
	return s.first
}

func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

func (p Position) Right(columns int) Position {
	p.Column += columns
	return p
}

// Refuse records a fault at the place, unless the reading has one already.
func (p Position) Refuse(format string, args ...any) { p.RefuseHint("", format, args...) }

func (p Position) RefuseHint(hint, format string, args ...any) {
	p.Record(&Error{Position: p, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// Record is Refuse for a fault that says itself where it is.
func (p Position) Record(fault *Error) { p.faults.first = cmp.Or(p.faults.first, fault) }

// Failed tells whether the reading that the place is part of has found a fault.
func (p Position) Failed() bool { return p.faults.Failed() }

// Error is one line, as "op.yaml:12:5: unknown key `tunable`; did you mean `tunables`?".
func (e *Error) Error() string {
	message := e.Message
	if e.By != "" {
		message += " (included at " + e.By + ")"
	}
	return Sentence(e.Position.String(), message, e.Hint)
}

// Sentence puts an error's parts into one line; where and hint may be empty.
func Sentence(where, message, hint string) string {
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

// DidYouMean is a hint with the name nearest to word, or "" when none is near.
func DidYouMean(word string, names []string) string {
	near := spelling.Nearest(word, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean `%s`?", near)
}

// NearestOrAll is DidYouMean, or the list of all names when none is near.
func NearestOrAll(word, what string, names []string) string {
	if hint := DidYouMean(word, names); hint != "" {
		return hint
	}
	if len(names) == 0 {
		return ""
	}
	return what + " " + strings.Join(names, ", ")
}
