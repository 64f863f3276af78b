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

// Indexed is the first of a kernel's arrays of which elements of another choose elements;
// "" if there is none. bounds tells that two neighbours of these elements say where a run
// begins and ends, as the rows of a sparse matrix do.
func Indexed(k cudafile.Kernel, name string) (array string, bounds bool) {
	own := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\s*\[`)
	follows := follow(k.Body, own.MatchString)
	chosen := func(text string) bool { return own.MatchString(text) || mentions(text, follows) }
	all := accesses(k.Body)
	var indices []string
	for _, a := range all {
		if a.array == name {
			indices = append(indices, a.index)
		}
	}
	bounds = slices.ContainsFunc(indices, func(index string) bool { return slices.Contains(indices, index+"+1") })
	for _, p := range k.Parameters {
		if !p.Pointer || p.Name == name || p.Name == "" {
			continue
		}
		beyond := regexp.MustCompile(`\b` + regexp.QuoteMeta(p.Name) + `\s*\+([^;,]*)`)
		for _, m := range beyond.FindAllStringSubmatch(k.Body, -1) {
			if chosen(m[1]) {
				return p.Name, bounds
			}
		}
		if slices.ContainsFunc(all, func(a access) bool { return a.array == p.Name && chosen(a.index) }) {
			return p.Name, bounds
		}
	}
	return "", bounds
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

// interiorForm is a comparison that leaves the last elements of a side out.
var interiorForm = regexp.MustCompile(`\b(\w+)\s*<\s*\w+\s*-\s*\d`)

// interior tells whether a kernel does not write the border of its output.
func interior(k cudafile.Kernel) bool {
	follows := follow(k.Body, func(text string) bool { return strings.Contains(text, "blockIdx") })
	return slices.ContainsFunc(interiorForm.FindAllStringSubmatch(k.Body, -1), func(m []string) bool { return follows[m[1]] })
}
