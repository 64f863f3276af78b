package cudasource

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"autotune/tuner/operator"
)

var (
	onceForm      = regexp.MustCompile(`^[ \t]*#[ \t]*pragma[ \t]+once\b`)
	conditionForm = regexp.MustCompile(`^[ \t]*#[ \t]*(if|ifdef|ifndef|endif)\b`)
	defineForm    = regexp.MustCompile(`^[ \t]*#[ \t]*define[ \t]+(\w+)`)
	guardForm     = regexp.MustCompile(`^[ \t]*#[ \t]*ifndef[ \t]+(\w+)`)
)

// Inline replaces the first #include of each file by the file's text and drops
// later ones.
func Inline(file, source string, includes map[string]string) (string, error) {
	in := inliner{includes: includes, done: map[string]bool{}}
	if err := in.add(file, source); err != nil {
		return "", err
	}
	return in.text.String(), nil
}

type inliner struct {
	includes map[string]string
	done     map[string]bool
	text     strings.Builder
	depth    int // of conditions
}

func (in *inliner) add(file, source string) error {
	for line := range strings.Lines(source) {
		if match := conditionForm.FindStringSubmatch(line); match != nil {
			if match[1] == "endif" {
				in.depth--
			} else {
				in.depth++
			}
		}
		name, include := operator.Included(line)
		switch {
		case onceForm.MatchString(line):
		case !include:
			in.text.WriteString(line)
		case in.done[name]:
		case in.depth > 0:
			return fmt.Errorf("%s includes %s under a condition: it cannot be put into one file", file, name)
		default:
			text, ok := in.includes[name]
			if !ok {
				return fmt.Errorf("%s includes %s, which is not among its files", file, name)
			}
			in.done[name] = true
			if err := in.add(name, text); err != nil {
				return err
			}
		}
	}
	if !strings.HasSuffix(source, "\n") {
		in.text.WriteString("\n")
	}
	return nil
}

// Defines writes the definitions of macros, for the head of a kernel's file.
func Defines(macros []operator.Macro) string {
	var b strings.Builder
	for _, m := range macros {
		fmt.Fprintf(&b, "#define %s %s\n", m.Name, m.Value)
	}
	return b.String()
}

// Undefines writes #undef lines for macros and for those that a text defines, so
// that they do not reach what follows in the same file. It spares macros that the
// text defines under #ifndef only, such as INFINITY: they may be another file's.
func Undefines(macros []operator.Macro, text string) string {
	var names []string
	for _, m := range macros {
		names = append(names, m.Name)
	}
	guarded := ""
	for line := range strings.Lines(text) {
		if match := defineForm.FindStringSubmatch(line); match != nil && match[1] != guarded {
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
