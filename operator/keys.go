package operator

import (
	_ "embed"
	"strings"
	"sync"

	"autotune/operator/tree"
)

// keys.txt is the table of op.yaml's mappings and their keys. The loader checks keys by it; the tables of
// docs/writing-an-operator.md are made from it. problem_keys.txt is that of lists of problems.

//go:embed keys.txt
var keysText string

//go:embed problem_keys.txt
var problemKeysText string

type key struct {
	name     string
	required bool
	value    string // what it may be, in words that schema.go reads
	meaning  string
}

// mappings are the keys of each mapping, by what messages call it, as "a template".
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
		case isOther: // another mapping's keys are this one's too
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
