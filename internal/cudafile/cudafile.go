// Package cudafile reads a CUDA file without compiling it: its kernels with their parameters, its macros that have a
// default value, and its variables in constant memory.
//
// Package cudafile does not run the preprocessor. If preprocessor conditions decide what a kernel or a macro is,
// package cudafile omits it or marks it as unclear.
package cudafile

import (
	"bytes"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// Place is a position in a file; lines and columns count from 1.
type Place struct {
	Line, Column int
}

func placeOf(text string, offset int) Place {
	before := text[:offset]
	return Place{1 + strings.Count(before, "\n"), offset - strings.LastIndexByte(before, '\n')}
}

func withoutCode(source string, replaced func(found string) string) string {
	var b strings.Builder
	b.Grow(len(source))
	for len(source) > 0 {
		_, end := blankAhead(source)
		if end == 0 {
			end = wordAhead(source)
		}
		if found := source[:end]; end > 1 && strings.IndexByte(`/"'`, found[0]) >= 0 || strings.HasPrefix(found, `R"`) {
			b.WriteString(replaced(found))
		} else {
			b.WriteString(found)
		}
		source = source[end:]
	}
	return b.String()
}

// Blank replaces comments and the contents of strings by spaces, so that all code keeps its place.
func Blank(source string) string {
	return withoutCode(source, func(found string) string {
		blank := bytes.Repeat([]byte{' '}, len(found))
		for i := range len(found) {
			if found[i] == '\n' || found[i] == found[0] && (found[0] == '"' || found[0] == '\'') {
				blank[i] = found[i]
			}
		}
		return string(blank)
	})
}

// BlankComments removes the comments of a source and keeps its line breaks.
func BlankComments(source string) string {
	return withoutCode(source, func(found string) string {
		if found[0] != '/' {
			return found
		}
		return strings.Repeat("\n", strings.Count(found, "\n")) + " "
	})
}

// directive matches a preprocessor directive, with the lines that continue it after a backslash.
var directive = regexp.MustCompile(`(?m)^[ \t]*#(?:[^\n\\]|\\(?s:.))*`)

// Code returns a text in which comments and preprocessor directives are blank, so that all code keeps its place.
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

// Branches yields each line of a text without comments, and whether preprocessor conditions leave the line out. The
// function holds evaluates a condition such as that of `#if X` or `#ifdef X`, and says whether the value of the
// condition is known.
func Branches(text string, holds func(word, condition string) (yes, known bool)) iter.Seq2[string, bool] {
	return func(yield func(line string, out bool) bool) {
		type branch struct{ around, out, taken bool } // left out: the condition, this branch; taken: surely an earlier branch
		var open []branch
		for line := range strings.Lines(text) {
			last := len(open) - 1
			if m := conditionOf(line); m != nil {
				yes, known := true, true
				if strings.Contains(m[1], "if") && (last < 0 || !open[last].out || m[1] == "elif") {
					yes, known = holds(m[1], strings.TrimSpace(line[strings.Index(line, m[1])+len(m[1]):]))
				}
				switch {
				case strings.HasPrefix(m[1], "if"):
					around := last >= 0 && open[last].out
					open = append(open, branch{around, around || known && !yes, known && yes})
				case last < 0:
				case m[1] == "endif":
					open = open[:last]
				default:
					at := &open[last]
					at.out, at.taken = at.around || at.taken || known && !yes, at.taken || known && yes
				}
			}
			if last = len(open) - 1; !yield(line, last >= 0 && open[last].out) {
				return
			}
		}
	}
}

// Compiled blanks text that no compiler reads: comments, and lines under `#if 0` or in the #else of `#if 1`.
func Compiled(text string) string {
	var kept strings.Builder
	for line, out := range Branches(BlankComments(text), func(_, condition string) (yes, known bool) {
		yes = condition == "1" || condition == "true"
		return yes, yes || condition == "0" || condition == "false"
	}) {
		if out {
			line = line[len(strings.TrimSuffix(line, "\n")):]
		}
		kept.WriteString(line)
	}
	return kept.String()
}

// Macro is a macro with a default value, which a definition from outside replaces: #ifndef X, #define X 4.
type Macro struct {
	Name, Value string
	Place
}

var (
	ifForm     = regexp.MustCompile(`^[ \t]*#[ \t]*(if|ifdef|ifndef|else|elif|endif)\b[ \t]*(\w*)`)
	defineForm = regexp.MustCompile(`^[ \t]*#[ \t]*define[ \t]+(\w+)(?:[ \t]+(.*?))?[ \t\r]*$`)
)

// conditionOf returns the parts of a directive such as #if, #else or #endif, or nil for any other line.
func conditionOf(line string) []string {
	if !strings.Contains(line, "#") {
		return nil // most lines
	}
	return ifForm.FindStringSubmatch(line)
}

// Macros lists the macros to which a file gives a default value, which are all definitions directly under an #ifndef.
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

// Words returns the set of names in a file's code, including those in preprocessor directives.
func Words(text string) map[string]bool {
	words := map[string]bool{}
	for _, word := range wordForm.FindAllString(Blank(text), -1) {
		words[word] = true
	}
	return words
}
