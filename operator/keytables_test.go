package operator

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/writing-an-operator.md's tables of keys anew")

var keyTable = regexp.MustCompile(`(?s)(<!-- keys of ([a-z ]+) -->\n).*?(<!-- end of keys -->\n)`)

// The documented keys are those of keys.txt.
func TestKeyTables(t *testing.T) {
	const file = "../docs/writing-an-operator.md"
	page, err := os.ReadFile(file)
	must(t, err)
	documented := map[string]bool{}
	want := keyTable.ReplaceAllStringFunc(string(page), func(part string) string {
		parts := keyTable.FindStringSubmatch(part)
		documented[parts[2]] = true
		var table strings.Builder
		for _, key := range mappings()[parts[2]] {
			star := ""
			if key.required {
				star = "*"
			}
			table.WriteString("| `" + key.name + "`" + star + " | " + key.value + " | " + key.meaning + " |\n")
		}
		if table.Len() == 0 {
			t.Errorf("%s: keys.txt has no %s", file, parts[2])
		}
		return parts[1] + "| key | value | meaning |\n| --- | --- | --- |\n" + table.String() + parts[3]
	})
	for _, what := range sorted(mappings()) {
		if what != "a problem" && !documented[what] {
			t.Errorf("%s: no table has the keys of %s", file, what)
		}
	}
	if want == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s: its tables of keys are not those of keys.txt; `go test ./operator -run TestKeyTables -update` writes them", file)
	}
	must(t, os.WriteFile(file, []byte(want), 0o644))
}
