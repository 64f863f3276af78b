// Package tree reads files that people write, such as op.yaml and lists of problems, as trees of nodes with positions.
// Package tree accepts a small part of YAML: mappings, lists and scalars, but no anchors, tags or further documents.
package tree

import (
	"cmp"
	"fmt"
	"strings"

	"autotune/internal/spelling"
)

// Error is a fault in an operator's files: where the fault is, why it is one, and what was probably meant.
type Error struct {
	Position
	Message string
	Hint    string // what would be right, as "did you mean `tunables`?"
}

type Position struct {
	File   string
	Line   int    // 1-based; 0: no place of the file's
	Column int    // 1-based
	By     string // the place that includes the file; "": none

	faults *Faults // of the reading that the position belongs to
}

// Faults keeps the first fault in a file. Readers do not stop at a fault: they go on with empty values, which are not
// used, and their caller checks Err at the end. Readers check Failed before work that takes long or cannot use empty
// values.
type Faults struct{ first *Error }

func (s *Faults) At(file string, line, column int) Position {
	return Position{File: file, Line: line, Column: column, faults: s}
}

func (s *Faults) Failed() bool { return s.first != nil }

// Err returns the first fault, an *Error, or nil if there is none.
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

// Refuse records a fault at a position, unless an earlier fault is recorded.
func (p Position) Refuse(format string, args ...any) { p.RefuseHint("", format, args...) }

func (p Position) RefuseHint(hint, format string, args ...any) {
	p.Record(&Error{Position: p, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// Record records a fault that contains its own position, unless an earlier fault is recorded.
func (p Position) Record(fault *Error) { p.faults.first = cmp.Or(p.faults.first, fault) }

// Failed tells whether a fault was found in the file that the position belongs to.
func (p Position) Failed() bool { return p.faults.Failed() }

// Error returns one line, such as "op.yaml:12:5: unknown key `tunable`; did you mean `tunables`?".
func (e *Error) Error() string {
	message := e.Message
	if e.By != "" {
		message += " (included at " + e.By + ")"
	}
	return Sentence(e.Position.String(), message, e.Hint)
}

// Sentence joins an error's parts into one line; where and hint may be empty.
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

// shorten cuts a message, which may quote a user's text, to a few lines of a terminal, and removes line breaks.
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

// DidYouMean returns a hint with the name most similar to word, or "" if none is similar.
func DidYouMean(word string, names []string) string {
	near := spelling.Nearest(word, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean `%s`?", near)
}

// NearestOrAll returns a hint with the name most similar to word, or with all names if none is similar.
func NearestOrAll(word, what string, names []string) string {
	if hint := DidYouMean(word, names); hint != "" {
		return hint
	}
	if len(names) == 0 {
		return ""
	}
	return what + " " + strings.Join(names, ", ")
}
