package cudafile

import (
	"regexp"
	"strings"
)

// Use is what a kernel does with the elements of an array.
type Use struct {
	Read, Written bool
	Passed        bool // the pointer itself goes elsewhere
}

// writing is what follows an element that is written: an assignment alone, or one that reads it, too.
var writing = regexp.MustCompile(`^\s*(=[^=]|=$|[-+*/%&|^]=|<<=|>>=|\+\+|--)`)

// Use looks at every `name[...]` and `*name` of the kernel. An element whose address is taken, as an atomic function
// does, is read and written. What goes through another pointer is not seen.
func (k Kernel) Use(name string) Use {
	var u Use
	if name == "" {
		return u
	}
	blank := k.Body
	element := regexp.MustCompile(`(&\s*)?(\*\s*)?\b` + regexp.QuoteMeta(name) + `\b(?:\s*\[)?`)
	for _, m := range element.FindAllStringSubmatchIndex(blank, mostUses) {
		end := m[1]
		switch {
		case blank[end-1] == '[':
			if end = 1 + closing(blank, end, '[', ']'); end == 0 {
				return u
			}
		case m[4] < 0:
			u.Passed = true
			continue
		}
		found := writing.FindStringSubmatch(blank[end:min(len(blank), end+16)])
		switch {
		case m[2] >= 0:
			u.Read, u.Written = true, true
		case found == nil:
			u.Read = true
		default:
			u.Written = true
			u.Read = u.Read || !strings.HasPrefix(found[1], "=")
		}
	}
	return u
}

// mostUses bounds how many places are looked at.
const mostUses = 10_000
