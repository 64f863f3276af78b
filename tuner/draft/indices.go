package draft

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/cudafile"
)

// access is an element of an array as code names it: array[index].
type access struct{ array, index string }

var accessForm = regexp.MustCompile(`([A-Za-z_]\w*)\s*\[`)

func accesses(body string) (all []access) {
	for _, m := range accessForm.FindAllStringSubmatchIndex(body, -1) {
		depth := 1
		for i := m[1]; i < len(body); i++ {
			switch body[i] {
			case '[':
				depth++
			case ']':
				depth--
			}
			if depth == 0 {
				all = append(all, access{body[m[2]:m[3]], strings.Join(strings.Fields(body[m[1]:i]), "")})
				break
			}
		}
	}
	return all
}

var (
	statementForm = regexp.MustCompile(`[^;{}]+`)
	assignedForm  = regexp.MustCompile(`(\w+)\s*=([^=].*)?$`)
	blankForm     = regexp.MustCompile(`\s+`)
)

// mostSteps is how often a value may go from one variable to the next.
const mostSteps = 3

// follow finds the variables that are computed from those of from, or from each other.
func follow(body string, from func(text string) bool) map[string]bool {
	follows := map[string]bool{}
	for range mostSteps {
		for _, statement := range statementForm.FindAllString(body, -1) {
			m := assignedForm.FindStringSubmatch(blankForm.ReplaceAllString(statement, " "))
			if m != nil && (from(m[2]) || mentions(m[2], follows)) {
				follows[m[1]] = true
			}
		}
	}
	return follows
}

func mentions(text string, names map[string]bool) bool {
	return slices.ContainsFunc(wordForm.FindAllString(text, -1), func(word string) bool { return names[word] })
}

// extent is how many elements an array has where its own text tells: all that is named
// are its first, or one for each block. more are those that lie behind the problem's size.
func extent(k cudafile.Kernel, name string) (elements int64, blocks bool, more int64) {
	blocks, first := true, true
	for _, a := range accesses(k.Body) {
		if a.array != name {
			continue
		}
		n, err := strconv.ParseInt(a.index, 10, 32)
		first = first && err == nil
		blocks = blocks && a.index == "blockIdx.x"
		elements = max(elements, n+1)
		if at := strings.LastIndexByte(a.index, '+'); at > 0 {
			n, _ := strconv.ParseInt(a.index[at+1:], 10, 32)
			more = max(more, n)
		}
	}
	if elements == 0 {
		return 0, false, 0 // the kernel names no element
	}
	if !first {
		elements = 0
	}
	return elements, blocks && !first, more
}
