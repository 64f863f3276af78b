package compile

import (
	"regexp"
	"strconv"
	"strings"

	"autotune/operator"
)

// located matches an error line of a compiler's front end that names its place, such as "direct.cu(12): error:
// identifier "x" is undefined". The pattern `located` skips the number that newer compilers put before the text of an
// error.
var located = regexp.MustCompile(`(?m)^(.+?)\((\d+)\): (?:catastrophic )?error:?\s*(?:#\d+(?:-D)?: )?(.*)$`)

// unlocated matches an error line that names no place, such as the assembler's "ptxas error : Entry function 'x' uses
// too much shared data".
var unlocated = regexp.MustCompile(`(?mi)^.*\b(?:error|fatal)\s*:\s*(.*)$`)

// logError makes an Error from the log of a failed compilation: the place and text of the first error, and the log.
func logError(file, log string) *Error {
	e := &Error{File: file, Message: "the compiler refused it without saying why", Log: log}
	if m := located.FindStringSubmatch(log); m != nil {
		e.File, e.Message = m[1], m[3]
		e.Line, _ = strconv.Atoi(m[2])
		return e
	}
	if m := unlocated.FindStringSubmatch(log); m != nil {
		e.Message = strings.TrimSpace(m[1])
	} else if line, _, _ := strings.Cut(strings.TrimSpace(log), "\n"); line != "" {
		e.Message = line
	}
	return e
}

// expanded matches a macro's name in the notes that a compiler adds to an error.
var expanded = regexp.MustCompile(`(?:in expansion of|expanded from) macro ['"‘](\w+)`)

var word = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// NameMacros appends to the error's message the macros that the error involves, with their values, as "(KEEP=none)".
// The compiler's message does not show the values of a configuration's macros, because these macros are in no file.
func (e *Error) NameMacros(macros []operator.Macro, words string) {
	named := map[string]bool{}
	for _, m := range expanded.FindAllStringSubmatch(words, -1) {
		named[m[1]] = true
	}
	var given []string
	for _, m := range macros {
		quoted := word.MatchString(m.Value) && (strings.Contains(e.Message, "'"+m.Value+"'") || strings.Contains(e.Message, `"`+m.Value+`"`))
		if named[m.Name] || quoted {
			given = append(given, m.Name+"="+m.Value)
		}
	}
	if len(given) > 0 {
		e.Message += " (" + strings.Join(given, ", ") + ")"
	}
}
