// Package cudafile reads what a CUDA file says of itself without compiling it: its kernels with their parameters, its
// macros with a value of their own, its variables in constant memory.
//
// It knows no preprocessor. What conditions or macros make unclear is left out, or
// said to be unclear, rather than guessed.
package cudafile

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// Place is where something stands in a file; both count from 1.
type Place struct {
	Line, Column int
}

func placeOf(text string, offset int) Place {
	before := text[:offset]
	return Place{1 + strings.Count(before, "\n"), offset - strings.LastIndexByte(before, '\n')}
}

// withoutCode replaces each comment and each string of a text.
func withoutCode(source string, replaced func(found string) string) string {
	var b strings.Builder
	b.Grow(len(source))
	for {
		at := strings.IndexAny(source, `/"`)
		if at < 0 {
			b.WriteString(source)
			return b.String()
		}
		b.WriteString(source[:at])
		source = source[at:]
		end := noCodeAhead(source)
		if end == 0 { // a division
			b.WriteByte(source[0])
			source = source[1:]
			continue
		}
		b.WriteString(replaced(source[:end]))
		source = source[end:]
	}
}

// noCodeAhead tells where the comment or the string at the head of a text ends; 0 if there is none.
func noCodeAhead(text string) int {
	switch {
	case strings.HasPrefix(text, "//"):
		line, _, _ := strings.Cut(text, "\n")
		return len(line)
	case strings.HasPrefix(text, "/*"):
		_, after, _ := strings.Cut(text[2:], "*/")
		return len(text) - len(after)
	case text[0] != '"':
		return 0
	}
	for end := 1; end < len(text); end++ {
		switch {
		case text[end] == '"':
			return end + 1
		case text[end] == '\n' || text[end] == '\\' && end+1 == len(text):
			return end
		case text[end] == '\\':
			end++
		}
	}
	return len(text)
}

// Blank replaces comments and the insides of strings by spaces, so that what remains in place is code.
func Blank(source string) string {
	return withoutCode(source, func(found string) string {
		blank := bytes.Repeat([]byte{' '}, len(found))
		for i := range len(found) {
			if found[i] == '\n' || found[i] == '"' && found[0] == '"' {
				blank[i] = found[i]
			}
		}
		return string(blank)
	})
}

// BlankComments takes the comments out and keeps the lines.
func BlankComments(source string) string {
	return withoutCode(source, func(found string) string {
		if found[0] == '"' {
			return found
		}
		return strings.Repeat("\n", strings.Count(found, "\n")) + " "
	})
}

// directive is a line for the preprocessor, with those that it goes on in.
var directive = regexp.MustCompile(`(?m)^[ \t]*#(?:[^\n\\]|\\(?s:.))*`)

// Code is a text without comments and without the preprocessor's lines, in place.
func Code(text string) string {
	return directive.ReplaceAllStringFunc(Blank(text), func(found string) string {
		return strings.Map(func(r rune) rune {
			if r == '\n' {
				return r
			}
			return ' '
		}, found)
	})
}

// Compiled blanks what no compiler looks at, and keeps the lines: comments, and what
// stands under `#if 0` or in the #else of `#if 1`.
func Compiled(text string) string {
	type branch struct{ around, never, rest bool } // what is never compiled: all around the condition, the branch at hand, the branches after it
	var kept strings.Builder
	var open []branch
	for line := range strings.Lines(BlankComments(text)) {
		if m := conditionOf(line); m != nil {
			condition := strings.TrimSpace(line[strings.Index(line, m[1])+len(m[1]):])
			next := branch{never: condition == "0" || condition == "false", rest: condition == "1" || condition == "true"}
			last := len(open) - 1
			switch {
			case strings.HasPrefix(m[1], "if"):
				next.around = last >= 0 && open[last].never
				next.never = next.never || next.around
				open = append(open, next)
			case last < 0:
			case m[1] == "endif":
				open = open[:last]
			default:
				at := &open[last]
				at.never, at.rest = at.around || at.rest || next.never, next.rest || at.rest
			}
		}
		if last := len(open) - 1; last >= 0 && open[last].never {
			line = line[len(strings.TrimSuffix(line, "\n")):]
		}
		kept.WriteString(line)
	}
	return kept.String()
}

// Macro is a macro that has a value unless it is given another: #ifndef X, #define X 4.
type Macro struct {
	Name, Value string
	Place
}

var (
	ifForm     = regexp.MustCompile(`^[ \t]*#[ \t]*(if|ifdef|ifndef|else|elif|endif)\b[ \t]*(\w*)`)
	defineForm = regexp.MustCompile(`^[ \t]*#[ \t]*define[ \t]+(\w+)(?:[ \t]+(.*?))?[ \t\r]*$`)
)

// conditionOf finds the word of a line that begins, turns or ends a condition.
func conditionOf(line string) []string {
	if !strings.Contains(line, "#") {
		return nil // most lines
	}
	return ifForm.FindStringSubmatch(line)
}

// Macros lists the macros to which a file gives a default value: all definitions
// directly under an #ifndef, whichever macro that names.
func Macros(text string) []Macro {
	var macros []Macro
	var open []bool // for each open condition: whether it is an #ifndef
	offset := 0
	for line := range strings.Lines(Blank(text)) {
		if m := conditionOf(line); m != nil {
			switch {
			case strings.HasPrefix(m[1], "if"):
				open = append(open, m[1] == "ifndef")
			case len(open) == 0:
			case m[1] == "endif":
				open = open[:len(open)-1]
			default:
				open[len(open)-1] = false
			}
		}
		m := defineForm.FindStringSubmatchIndex(strings.TrimRight(line, "\n"))
		known := func(x Macro) bool { return m != nil && x.Name == line[m[2]:m[3]] }
		if m != nil && len(open) > 0 && open[len(open)-1] && m[4] >= 0 && !slices.ContainsFunc(macros, known) {
			macros = append(macros, Macro{line[m[2]:m[3]], line[m[4]:m[5]], placeOf(text, offset+m[2])})
		}
		offset += len(line)
	}
	return macros
}

var wordForm = regexp.MustCompile(`[A-Za-z_]\w*`)

// Words are the names in a file's code, including the preprocessor's lines.
func Words(text string) map[string]bool {
	words := map[string]bool{}
	for _, word := range wordForm.FindAllString(Blank(text), -1) {
		words[word] = true
	}
	return words
}
