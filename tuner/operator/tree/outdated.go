package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Files of the version before keep loading. What they say in other words is noted, and rewritten on
// demand.

// old are words of the version before, and what they are called now.
var old = map[string]string{"like": "include", "from": "include"}

// Outdated is a key that has another name now.
type Outdated struct {
	File         string
	Line, Column int
	Key, Now     string
}

func (d Outdated) String() string {
	return fmt.Sprintf("%s:%d:%d: `%s` is called `%s` now, and the next version reads nothing else; `autotune check --fix` rewrites it",
		d.File, d.Line, d.Column, d.Key, d.Now)
}

// noteOld remembers a key that has another name now.
func (in *Includer) noteOld(e Entry) {
	note := Outdated{e.File, e.Line, e.Column, e.Key, old[e.Key]}
	if note.Now != "" && !slices.Contains(in.Outdated, note) {
		in.Outdated = append(in.Outdated, note)
	}
}

// Renewed is a file's text with the keys renamed that are outdated in it. Nothing else of it changes.
func Renewed(text string, outdated []Outdated) (string, error) {
	lines := strings.Split(text, "\n")
	outdated = slices.SortedFunc(slices.Values(outdated), func(a, b Outdated) int { // the last first: the others stay in place
		return cmp.Or(b.Line-a.Line, b.Column-a.Column)
	})
	for _, d := range outdated {
		var line []rune
		if d.Line <= len(lines) {
			line = []rune(lines[d.Line-1])
		}
		end := d.Column - 1 + len([]rune(d.Key))
		if end > len(line) || string(line[d.Column-1:end]) != d.Key {
			return "", fmt.Errorf("%s:%d:%d: here should be the key `%s`; the file has changed since it was read", d.File, d.Line, d.Column, d.Key)
		}
		lines[d.Line-1] = string(line[:d.Column-1]) + d.Now + string(line[end:])
	}
	return strings.Join(lines, "\n"), nil
}
