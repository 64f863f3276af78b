package docs_test

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"autotune/internal/test/must"
)

var (
	packageForm  = regexp.MustCompile("(?m)^(?:    (?:  \\+-- )?([a-z][a-z0-9_/]*) +|\\| `((?:internal|docs)[a-z0-9/]*)` \\| )([\\d,]+)(?:  | \\|)")
	languageForm = regexp.MustCompile(`(?m)^\| (Go tests|Python|CUDA under templates|YAML under templates) \| ([\d,]+) \|`)
)

// language returns the row of docs/architecture.md that counts the lines of a file, or "" if no row counts them.
func language(name string) string {
	under := strings.HasPrefix(name, "templates/")
	switch ext := path.Ext(name); {
	case strings.HasSuffix(name, "_test.go"):
		return "Go tests"
	case ext == ".py":
		return "Python"
	case under && (ext == ".cu" || ext == ".cuh"):
		return "CUDA under templates"
	case under && ext == ".yaml":
		return "YAML under templates"
	}
	return ""
}

// lineCounts counts the repository's lines of Go without tests by folder, and its lines of the other languages that
// docs/architecture.md lists.
func lineCounts(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || name == "build" || name == "bin" || name == "bench-out"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		row := language(name)
		if row == "" && path.Ext(name) == ".go" && !strings.Contains(name, "testdata/") {
			row = path.Dir(name)
		}
		if row == "" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join("..", name))
		counts[row] += bytes.Count(text, []byte("\n"))
		return err
	})
	must.OK(t, err)
	return counts
}

// TestBudgets checks the budget of lines that docs/architecture.md gives to each package, and to each language beside
// Go, so that a commit that grows the code must raise a budget. TestBudgets also refuses a budget far above the present
// number of lines, because a package could use it up unseen.
func TestBudgets(t *testing.T) {
	text := must.Read(t, "architecture.md")
	budgets := map[string]string{}
	for _, m := range packageForm.FindAllStringSubmatch(string(text), -1) {
		budgets[m[1]+m[2]] = m[3]
	}
	for _, m := range languageForm.FindAllStringSubmatch(string(text), -1) {
		budgets[m[1]] = m[2]
	}
	for row, lines := range lineCounts(t) {
		budget, err := strconv.Atoi(strings.ReplaceAll(budgets[row], ",", ""))
		switch {
		case err != nil:
			t.Errorf("%s has no budget in docs/architecture.md; it has %d lines", row, lines)
		case lines > budget:
			t.Errorf("%s has %d lines, and docs/architecture.md allows %d: remove some, or raise it and say why in the commit", row, lines, budget)
		case budget > lines+lines/10+100:
			t.Errorf("%s has %d lines, and docs/architecture.md allows %d: lower it", row, lines, budget)
		}
	}
}
