package compile

import (
	"regexp"
	"strconv"
	"strings"

	"autotune/operator"
)

// located is an error line of a compiler's front end with its place:
// "direct.cu(12): error: identifier "x" is undefined". Newer versions put a
// diagnostic's number before the text, which is left out here.
var located = regexp.MustCompile(`(?m)^(.+?)\((\d+)\): (?:catastrophic )?error:?\s*(?:#\d+(?:-D)?: )?(.*)$`)

// unlocated is an error line without a place, as the assembler's
// "ptxas error   : Entry function 'x' uses too much shared data".
var unlocated = regexp.MustCompile(`(?mi)^.*\b(?:error|fatal)\s*:\s*(.*)$`)

// logError makes the error of a failed compile from its log: the first error's
// place and text, and the whole log beside them.
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

// expanded is a macro's name in what a compiler says of an error.
var expanded = regexp.MustCompile(`(?:in expansion of|expanded from) macro ['"‘](\w+)`)

var word = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// NameMacros adds to an error the macros whose values it is about, as "(KEEP=none)", since a
// configuration's macros are in no file. words is all that the compiler says of the error.
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
