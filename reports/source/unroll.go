package source

import (
	"regexp"
	"strings"

	"autotune/templates"
)

var (
	unrollForm     = regexp.MustCompile(`(?m)^([ \t]*#[ \t]*pragma[ \t]+unroll[ \t]+)(.*)$`)
	identifierForm = regexp.MustCompile(`[A-Za-z_]\w*`)
	valueForm      = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\s/][^/\n]*)$`)
)

// Unrolls writes the values of macros into #pragma unroll. NVRTC expands macros
// there, nvcc does not: its preprocessor leaves pragmas alone.
func Unrolls(text string, macros []templates.Macro) string {
	values := map[string]string{}
	for _, match := range valueForm.FindAllStringSubmatch(text, -1) {
		values[match[1]] = "(" + strings.TrimSpace(match[2]) + ")"
	}
	for _, m := range macros { // these come before the text's own defaults
		values[m.Name] = m.Value
	}
	expand := func(name string) string {
		if value, ok := values[name]; ok {
			return value
		}
		return name
	}
	return unrollForm.ReplaceAllStringFunc(text, func(line string) string {
		match := unrollForm.FindStringSubmatch(line)
		argument := match[2]
		for range 8 { // macros of macros
			argument = identifierForm.ReplaceAllStringFunc(argument, expand)
		}
		return match[1] + argument
	})
}
