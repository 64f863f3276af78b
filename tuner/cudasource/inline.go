package cudasource

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/cudafile"
	"autotune/internal/lists"
	"autotune/operator"
)

var (
	onceForm   = regexp.MustCompile(`^[ \t]*#[ \t]*pragma[ \t]+once\b`)
	defineForm = regexp.MustCompile(`^[ \t]*#[ \t]*define[ \t]+(\w+)`)
	guardForm  = regexp.MustCompile(`^[ \t]*#[ \t]*ifndef[ \t]+(\w+)`)
)

// Inline replaces the first #include of each file by the file's text, between blank lines, and drops later #include
// lines of that file. Inline leaves out code whose preprocessor conditions are false with the given macros.
func Inline(file, source string, includes map[string]string, macros []operator.Macro) (string, error) {
	in := inliner{includes: includes, macros: map[string]bool{}, done: map[string]bool{}}
	for _, m := range macros {
		in.macros[m.Name] = m.Value != "0"
	}
	err := in.add(file, source)
	return in.text.String(), err
}

type inliner struct {
	includes map[string]string
	macros   map[string]bool // whether `#if NAME` holds for each macro
	done     map[string]bool
	text     strings.Builder
	border   bool // whether the last line ended a file
}

func (in *inliner) add(file, source string) error {
	if !strings.HasSuffix(source, "\n") {
		source += "\n"
	}
	included, if1, if0 := operator.Included(source), in.leftOut(source, true), in.leftOut(source, false)
	for i, line := range slices.Collect(strings.Lines(source)) {
		name := included[i]
		switch text, known := in.includes[name]; {
		case onceForm.MatchString(line) || in.done[name]:
		case name == "":
			in.write(line)
		case if1[i] && if0[i]:
		case if1[i] || if0[i]:
			return fmt.Errorf("%s includes %s under a condition: it cannot be put into one file", file, name)
		case !known:
			return fmt.Errorf("%s includes %s, which is not among its files", file, name)
		default:
			in.done[name], in.border = true, true
			if err := in.add(name, text); err != nil {
				return err
			}
			in.border = true
		}
	}
	return nil
}

// leftOut reports for each line of a file whether preprocessor conditions exclude it. The argument `others` is the
// value of preprocessor conditions that the known macros do not decide.
func (in *inliner) leftOut(source string, others bool) (all []bool) {
	for _, out := range cudafile.Branches(cudafile.BlankComments(source), func(word, condition string) (yes, known bool) {
		if yes, known = in.macros[condition]; known && word == "if" {
			return yes, true
		}
		return others, true
	}) {
		all = append(all, out)
	}
	return all
}

// write adds a line to the text, and adds a blank line before the first and after the last line of an included file. If
// several blank lines follow each other, write keeps only the first.
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

// Defines returns #define lines for macros, which belong at the head of a kernel's file.
func Defines(macros []operator.Macro) string {
	var b strings.Builder
	for _, m := range macros {
		fmt.Fprintf(&b, "#define %s %s\n", m.Name, m.Value)
	}
	return b.String()
}

// ofLibrary lists macros of math.h that kernels define themselves for a compiler that lacks math.h.
var ofLibrary = []string{"INFINITY", "NAN"}

// Undefines returns #undef lines for the given macros and for all macros that the text defines, so that they do not
// affect later code in the same file. INFINITY and NAN stay defined if the text defines them under #ifndef only, since
// other files may use them.
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
