package source

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"autotune/tuner/operator"
)

var (
	includeForm   = regexp.MustCompile(`^[ \t]*#[ \t]*include[ \t]*"([^"]*)"`)
	onceForm      = regexp.MustCompile(`^[ \t]*#[ \t]*pragma[ \t]+once\b`)
	conditionForm = regexp.MustCompile(`^[ \t]*#[ \t]*(if|ifdef|ifndef|endif)\b`)
	defineForm    = regexp.MustCompile(`^[ \t]*#[ \t]*define[ \t]+(\w+)`)
	guardForm     = regexp.MustCompile(`^[ \t]*#[ \t]*ifndef[ \t]+(\w+)`)
)

// Inline puts what a source includes in the place of the first #include of it.
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
		include := includeForm.FindStringSubmatch(line)
		switch {
		case onceForm.MatchString(line):
		case include == nil:
			in.text.WriteString(line)
		case in.done[include[1]]:
		case in.depth > 0:
			return fmt.Errorf("%s includes %s under a condition: it cannot be put into one file", file, include[1])
		default:
			text, ok := in.includes[include[1]]
			if !ok {
				return fmt.Errorf("%s includes %s, which is not among its files", file, include[1])
			}
			in.done[include[1]] = true
			if err := in.add(include[1], text); err != nil {
				return err
			}
		}
	}
	if !strings.HasSuffix(source, "\n") {
		in.text.WriteString("\n")
	}
	return nil
}

// Defines writes macros as a kernel's file wants to find them.
func Defines(macros []operator.Macro) string {
	var b strings.Builder
	for _, m := range macros {
		fmt.Fprintf(&b, "#define %s %s\n", m.Name, m.Value)
	}
	return b.String()
}

// Undefines ends the life of macros and of those that a text defines, so that
// what follows in the same file does not meet them. It leaves alone what the
// text defines only where nobody else has: INFINITY, say.
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
