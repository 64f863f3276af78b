package cudafile

import (
	"regexp"
	"strings"
)

// Use is what a kernel does with the elements of an array, and the indices that it names: `i + 1` of a[i + 1].
type Use struct {
	Read, Written bool
	Indices       []string // without blanks
}

// writing is what follows an element that is written: an assignment alone, or one that reads it, too.
var writing = regexp.MustCompile(`^\s*(=[^=]|=$|[-+*/%&|^]=|<<=|>>=|\+\+|--)`)

// Use looks at every `name[...]` and `*name` of the kernel. An element whose address is taken, as an atomic function
// does, is read and written. What goes through another pointer is not seen.
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
			continue // the pointer itself
		}
		found := writing.FindStringSubmatch(k.Body[end:min(len(k.Body), end+16)])
		u.Read = u.Read || found == nil || m[2] >= 0 || !strings.HasPrefix(found[1], "=")
		u.Written = u.Written || found != nil || m[2] >= 0
	}
	return u
}

// mostUses bounds how many places are looked at.
const mostUses = 10_000
