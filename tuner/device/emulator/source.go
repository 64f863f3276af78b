package emulator

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/cudafile"
	"autotune/tuner/operator"
)

// prepare makes the file that the C++ compiler gets of a kernel: its source,
// line for line, with the declarations that C++ cannot be taught rewritten, and
// what the runtime calls at the end.
func prepare(k operator.Kernel, sanitize bool) string {
	var b strings.Builder
	// Here, and not for the compiler's command line: a macro may have a name that the
	// runtime's own headers use.
	b.WriteString("#line 1 \"<command-line>\"\n") // where messages have them from
	for _, m := range k.Macros {
		fmt.Fprintf(&b, "#define %s %s\n", m.Name, m.Value)
	}
	// Sections of variables must not mix templates' and others', which they do
	// unless all names are the file's own.
	if sanitize {
		b.WriteString("namespace {\n")
	}
	fmt.Fprintf(&b, "#line 1 %q\n", k.File)
	b.WriteString(rewriteDynamicShared(k.Source, k.File))
	b.WriteString("\n")
	if sanitize {
		b.WriteString("}\n")
	}
	for _, m := range k.Macros {
		fmt.Fprintf(&b, "#undef %s\n", m.Name)
	}
	b.WriteString(entryPoints(k))
	return b.String()
}

// dynamicShared is a declaration of dynamic shared memory: its type with
// qualifiers, its name, and further dimensions.
var dynamicShared = regexp.MustCompile(
	`\bextern\s+((?:__shared__|__align__\s*\([^()]*\)|alignas\s*\([^()]*\)|volatile|\s)*__shared__(?:__align__\s*\([^()]*\)|alignas\s*\([^()]*\)|\s)*)` +
		`([A-Za-z_][\w:<>,\s]*?[\w>])\s+(\w+)\s*\[\s*\]((?:\s*\[[^\[\];]*\])*)\s*;`)

// rewriteDynamicShared turns each `extern __shared__ T name[];` into a reference
// to the block's dynamic shared memory. At file scope, where a reference could
// not follow the block from thread to thread, the name becomes a macro.
func rewriteDynamicShared(source, file string) string {
	blank := cudafile.Blank(source)
	var b strings.Builder
	last := 0
	for _, m := range dynamicShared.FindAllStringSubmatchIndex(blank, -1) {
		declared := source[m[0]:m[1]]
		kind, name, more := source[m[4]:m[5]], source[m[6]:m[7]], source[m[8]:m[9]]
		memory := fmt.Sprintf("*reinterpret_cast<autotune_dynamic_%s*>(autotune_dynamic_shared())", name)
		array := fmt.Sprintf("typedef %s autotune_dynamic_%s[]%s;", kind, name, more)
		lines := strings.Count(declared, "\n")
		b.WriteString(source[last:m[0]])
		if atFileScope(blank[:m[0]]) {
			line := 1 + strings.Count(source[:m[1]], "\n")
			fmt.Fprintf(&b, "%s\n#define %s (%s)\n#line %d %q\n", array, name, memory, line, file)
		} else {
			fmt.Fprintf(&b, "%s autotune_dynamic_%s& %s = %s;%s", array, name, name, memory, strings.Repeat("\n", lines))
		}
		last = m[1]
	}
	b.WriteString(source[last:])
	return b.String()
}

// atFileScope tells whether a blanked-out text ends outside of all braces but
// those of namespaces and linkage.
func atFileScope(text string) bool {
	var open []bool // of each open brace: whether it is another one
	for i := range len(text) {
		switch {
		case text[i] == '{':
			open = append(open, !transparent.MatchString(text[:i]))
		case text[i] == '}' && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	return !slices.Contains(open, true)
}

var transparent = regexp.MustCompile(`(?:\bnamespace(?:\s+[\w:]+)?|\bextern\s+" *")\s*$`)
