package cudafile

import (
	"regexp"
	"strings"
)

// Use says whether a kernel reads or writes the elements of an array, and by which indices: `i + 1` for a[i + 1].
type Use struct {
	Read, Written bool
	Indices       []string // without blanks
}

// writing matches the text behind an element that is assigned to, by `=` or by an operator such as +=.
var writing = regexp.MustCompile(`^\s*(=[^=]|=$|[-+*/%&|^]=|<<=|>>=|\+\+|--)`)

// Use finds every access of the form `name[...]` or `*name` in the kernel. An element whose address is taken, as for an
// atomic function, counts as read and written. Use does not find accesses to the array through another pointer.
func (k Kernel) Use(name string) (u Use) {
	if name == "" {
		return u
	}
	element := regexp.MustCompile(`(&\s*)?(\*\s*)?\b` + regexp.QuoteMeta(name) + `\b(?:\s*\[)?`)
	for _, m := range element.FindAllStringSubmatchIndex(k.Body, mostUses) {
		end := m[1]
		switch {
		case k.Body[end-1] == '[':
			close := closing(k.Body, end, '[', ']')
			if close < 0 {
				return u
			}
			u.Indices = append(u.Indices, strings.Join(strings.Fields(k.Body[end:close]), ""))
			end = close + 1
		case m[4] < 0:
			continue // the pointer itself, not an element
		}
		found := writing.FindStringSubmatch(k.Body[end:min(len(k.Body), end+16)])
		u.Read = u.Read || found == nil || m[2] >= 0 || !strings.HasPrefix(found[1], "=")
		u.Written = u.Written || found != nil || m[2] >= 0
	}
	return u
}

// mostUses bounds the number of accesses that the method Use examines.
const mostUses = 10_000
