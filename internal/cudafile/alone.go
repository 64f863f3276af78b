package cudafile

import (
	"regexp"
	"slices"
	"strings"
)

// headForm matches the text before __global__ that belongs to a kernel's definition.
var headForm = regexp.MustCompile(`(?s)^(?:template\s*<.*>|extern\s+" "|static|inline|\s)*$`)

// Alone finds the kernels of a file that the argument among names. The function that Alone returns gives the file's
// text with the kernels in keep, and with blanks in place of the other kernels. Blanking a kernel does not change the
// line and column of other text. A kernel is never blanked if other code names it, or if preprocessor conditions make
// its bounds unclear.
func Alone(text string, among []string) func(keep []string) string {
	blank := Code(text)
	directives := directive.FindAllStringIndex(Blank(text), -1)
	spans := slices.DeleteFunc(Kernels(text), func(k Kernel) bool {
		head, _, _ := strings.Cut(blank[k.from:], "__global__")
		named := regexp.MustCompile(`\b` + regexp.QuoteMeta(k.Name) + `\b`)
		elsewhere := blank[:k.from] + " " + blank[k.to:]
		for _, d := range directives {
			elsewhere += text[d[0]:d[1]]
		}
		return !slices.Contains(among, k.Name) || k.Unclear || !headForm.MatchString(head) || named.MatchString(elsewhere) || !wholeBranches(text, blank, directives, k)
	})
	return func(keep []string) string {
		alone := []byte(text)
		for _, k := range spans {
			for i := k.from; i < k.to && !slices.Contains(keep, k.Name); i++ {
				if alone[i] != '\n' && alone[i] != '\r' {
					alone[i] = ' '
				}
			}
		}
		for _, d := range directives {
			copy(alone[d[0]:d[1]], text[d[0]:d[1]])
		}
		return string(alone)
	}
}

// wholeBranches tells whether all preprocessor conditions within a kernel begin and end within the kernel, and no
// branch leaves a C++ block open.
func wholeBranches(text, blank string, directives [][]int, k Kernel) bool {
	var open []int
	depth, at := 0, k.from
	for _, d := range directives {
		if d[0] < k.from || d[0] >= k.to {
			continue
		}
		depth += strings.Count(blank[at:d[0]], "{") - strings.Count(blank[at:d[0]], "}")
		at = d[1]
		m := ifForm.FindStringSubmatch(text[d[0]:d[1]])
		last := len(open) - 1
		switch {
		case m == nil:
		case strings.HasPrefix(m[1], "if"):
			open = append(open, depth)
		case last < 0 || open[last] != depth:
			return false
		case m[1] == "endif":
			open = open[:last]
		}
	}
	return len(open) == 0
}
