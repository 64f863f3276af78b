package emulator

import (
	"fmt"
	"regexp"
	"strings"

	"autotune/tuner/operator"
)

// prepare makes the file that the C++ compiler gets of a kernel: its source,
// line for line, with the declarations that C++ cannot be taught rewritten, and
// the definition of what the runtime calls at the end.
func prepare(k operator.Kernel, sanitize bool) string {
	var b strings.Builder
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
	fmt.Fprintf(&b, "#line 1 %q\nAUTOTUNE_ENTRY(%s)\n", entryFile, k.Entry)
	return b.String()
}

// entryFile is the name under which an error in the call of the kernel appears.
const entryFile = "<entry point>"

// dynamicShared is a declaration of dynamic shared memory: its type with
// qualifiers, its name, and further dimensions.
var dynamicShared = regexp.MustCompile(
	`\bextern\s+((?:__shared__|__align__\s*\([^()]*\)|alignas\s*\([^()]*\)|volatile|\s)*__shared__(?:__align__\s*\([^()]*\)|alignas\s*\([^()]*\)|\s)*)` +
		`([A-Za-z_][\w:<>,\s]*?[\w>])\s+(\w+)\s*\[\s*\]((?:\s*\[[^\[\];]*\])*)\s*;`)

// rewriteDynamicShared turns each `extern __shared__ T name[];` into a reference
// to the block's dynamic shared memory. At file scope, where a reference could
// not follow the block from thread to thread, the name becomes a macro.
func rewriteDynamicShared(source, file string) string {
	blank := blankOut(source)
	var b strings.Builder
	last := 0
	for _, m := range dynamicShared.FindAllStringSubmatchIndex(blank, -1) {
		declared := source[m[0]:m[1]]
		kind, name, more := source[m[4]:m[5]], source[m[6]:m[7]], source[m[8]:m[9]]
		memory := fmt.Sprintf("*reinterpret_cast<autotune_dynamic_%s*>(autotune_dynamic_shared())", name)
		array := fmt.Sprintf("typedef %s autotune_dynamic_%s[]%s;", kind, name, more)
		lines := strings.Count(declared, "\n")
		b.WriteString(source[last:m[0]])
		if depth(blank[:m[0]]) == 0 {
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

// depth counts the open braces at the end of a blanked-out text, without those
// of namespaces and linkage.
func depth(text string) int {
	n := 0
	var open []bool // whether each brace counts
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			counts := !transparent.MatchString(text[:i])
			open = append(open, counts)
			if counts {
				n++
			}
		case '}':
			if len(open) == 0 {
				continue
			}
			if open[len(open)-1] {
				n--
			}
			open = open[:len(open)-1]
		}
	}
	return n
}

var transparent = regexp.MustCompile(`(?:\bnamespace(?:\s+[\w:]+)?|\bextern\s+" *")\s*$`)

// blankOut replaces comments and the insides of strings by spaces, so that what
// remains in place is code.
func blankOut(source string) string {
	out := []byte(source)
	blank := func(from, to int) {
		for i := from; i < to && i < len(out); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(source); {
		rest := source[i:]
		switch {
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			blank(i, i+end)
			i += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				end = len(rest) - 4
			}
			blank(i, i+end+4)
			i += end + 4
		case rest[0] == '"':
			end := 1
			for end < len(rest) && rest[end] != '"' && rest[end] != '\n' {
				if rest[end] == '\\' {
					end++
				}
				end++
			}
			blank(i+1, i+end)
			i += end + 1
		default:
			i++
		}
	}
	return string(out)
}
