package cudasource

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/lists"
	"autotune/operator"
)

var (
	onceForm      = regexp.MustCompile(`^[ \t]*#[ \t]*pragma[ \t]+once\b`)
	conditionForm = regexp.MustCompile(`^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b`)
	defineForm    = regexp.MustCompile(`^[ \t]*#[ \t]*define[ \t]+(\w+)`)
	guardForm     = regexp.MustCompile(`^[ \t]*#[ \t]*ifndef[ \t]+(\w+)`)
	silentForm    = regexp.MustCompile(`^[ \t]*(//.*)?\r?\n?$`) // a line of comment or of nothing
)

// Inline replaces the first #include of each file by the file's text, between
// blank lines, and drops later ones. What stands under #ifndef of a macro that is
// defined anyway is left out.
func Inline(file, source string, includes map[string]string, macros []operator.Macro) (string, error) {
	in := inliner{includes: includes, defined: map[string]bool{}, done: map[string]bool{}}
	for _, m := range macros {
		in.defined[m.Name] = true
	}
	if err := in.add(file, source); err != nil {
		return "", err
	}
	return in.text.String(), nil
}

type inliner struct {
	includes map[string]string
	defined  map[string]bool
	done     map[string]bool
	text     strings.Builder
	depth    int  // of conditions
	border   bool // between two files, or where something was left out
}

func (in *inliner) add(file, source string) error {
	if !strings.HasSuffix(source, "\n") {
		source += "\n"
	}
	lines, included := slices.Collect(strings.Lines(source)), operator.Included(source)
	for i := 0; i < len(lines); i++ {
		if n := in.dead(lines[i:]); n > 0 {
			i += n - 1
			in.border = true
			continue
		}
		if err := in.addLine(file, lines[i], included[i]); err != nil {
			return err
		}
	}
	return nil
}

// addLine adds a line, or in its place what it includes.
func (in *inliner) addLine(file, line, name string) error {
	switch condition := conditionForm.FindStringSubmatch(line); {
	case condition == nil:
	case condition[1] == "endif":
		in.depth--
	case strings.HasPrefix(condition[1], "if"):
		in.depth++
	}
	switch {
	case onceForm.MatchString(line):
	case name == "":
		in.write(line)
	case in.done[name]:
	case in.depth > 0:
		return fmt.Errorf("%s includes %s under a condition: it cannot be put into one file", file, name)
	default:
		return in.include(file, name)
	}
	return nil
}

// write adds a line, with one blank line before it at a border. Of blank lines that follow
// each other it keeps the first: where a description stood in the file, there are many.
func (in *inliner) write(line string) {
	text := in.text.String()
	parted := text == "" || strings.HasSuffix(text, "\n\n")
	if blank := strings.TrimSpace(line) == ""; blank && (in.border || parted) {
		return
	}
	if in.border && !parted {
		in.text.WriteString("\n")
	}
	in.border = false
	in.text.WriteString(line)
}

// include adds a file, unless nothing but comments is left of it.
func (in *inliner) include(file, name string) error {
	source, ok := in.includes[name]
	if !ok {
		return fmt.Errorf("%s includes %s, which is not among its files", file, name)
	}
	in.done[name] = true
	if in.silent(source) {
		return nil
	}
	in.border = true
	err := in.add(name, source)
	in.border = true
	return err
}

// dead is how many lines the text begins with that no compiler would see: those
// from #ifndef of a defined macro to its #endif.
func (in *inliner) dead(lines []string) int {
	guard := guardForm.FindStringSubmatch(lines[0])
	if guard == nil || !in.defined[guard[1]] {
		return 0
	}
	depth := 0
	for i, line := range lines {
		condition := conditionForm.FindStringSubmatch(line)
		switch {
		case condition == nil:
		case condition[1] == "endif":
			if depth--; depth == 0 {
				return i + 1
			}
		case strings.HasPrefix(condition[1], "if"):
			depth++
		case depth == 1:
			return 0 // #else: a part of it is alive
		}
	}
	return 0
}

// silent tells whether a file says nothing to a compiler.
func (in *inliner) silent(source string) bool {
	lines := slices.Collect(strings.Lines(source))
	for i := 0; i < len(lines); i++ {
		if n := in.dead(lines[i:]); n > 0 {
			i += n - 1
		} else if !onceForm.MatchString(lines[i]) && !silentForm.MatchString(lines[i]) {
			return false
		}
	}
	return true
}

// Defines writes the definitions of macros, for the head of a kernel's file.
func Defines(macros []operator.Macro) string {
	var b strings.Builder
	for _, m := range macros {
		fmt.Fprintf(&b, "#define %s %s\n", m.Name, m.Value)
	}
	return b.String()
}

// ofLibrary are macros of math.h that kernels define where a compiler lacks them.
var ofLibrary = []string{"INFINITY", "NAN"}

// Undefines writes #undef lines for macros and for those that a text defines, so
// that they do not reach what follows in the same file. It spares those of C's library
// that the text defines under #ifndef only: they may be another file's.
func Undefines(macros []operator.Macro, text string) string {
	names := lists.Of(macros, func(m operator.Macro) string { return m.Name })
	guarded := ""
	for line := range strings.Lines(text) {
		if match := defineForm.FindStringSubmatch(line); match != nil && !(match[1] == guarded && slices.Contains(ofLibrary, guarded)) {
			names = append(names, match[1])
		}
		guarded = ""
		if match := guardForm.FindStringSubmatch(line); match != nil {
			guarded = match[1]
		}
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range slices.Compact(names) {
		fmt.Fprintf(&b, "#undef %s\n", name)
	}
	return b.String()
}
