package operator

import (
	_ "embed"
	"strings"
	"sync"

	"autotune/operator/tree"
)

// keys.txt lists the mappings that op.yaml can contain and their keys. The loader checks keys against keys.txt, and the
// tables of docs/writing-an-operator.md are generated from keys.txt. problem_keys.txt lists the keys of problem lists.

//go:embed keys.txt
var keysText string

//go:embed problem_keys.txt
var problemKeysText string

type key struct {
	name     string
	required bool
	value    string // the form of the value, in words that schema.go reads
	meaning  string
}

// mappings returns the keys of each mapping, by the name of the mapping in messages, such as "a template".
var mappings = sync.OnceValue(func() map[string][]key {
	all, what := map[string][]key{}, ""
	for line := range strings.Lines(keysText + problemKeysText) {
		line = strings.TrimSpace(line)
		title, isTitle := strings.CutPrefix(line, "# ")
		other, isOther := strings.CutPrefix(line, "... ")
		switch {
		case line == "":
		case isTitle:
			what = title
		case isOther: // this mapping also has the keys of another mapping
			all[what] = append(all[what], all[other]...)
		default:
			parts := strings.SplitN(line, " | ", 3)
			name, required := strings.CutSuffix(parts[0], "*")
			all[what] = append(all[what], key{name, required, parts[1], parts[2]})
		}
	}
	return all
})

func fields(n *tree.Node, what string) tree.Fields {
	known := map[string]bool{}
	for _, key := range mappings()[what] {
		known[key.name] = key.required
	}
	return n.Fields(what, known)
}
