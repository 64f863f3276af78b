// Package docs_test checks that no line of the documentation is too long for diffs and terminals.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const mostColumns = 120 // except in tables and code

// Programs write the pages in docs/results and testdata, so these pages may have long lines.
var written = []string{"docs/results", "testdata"}

func TestWidth(t *testing.T) {
	const root = ".."
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"bin", "build", "demo"}, name):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case filepath.Ext(path) != ".md" || slices.ContainsFunc(written, func(part string) bool { return strings.Contains(name, part) }):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, line := range wide(string(text)) {
			t.Errorf("%s:%d: the line is too long; wrap it at %d columns", name, line, mostColumns)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wide lists the numbers of a page's lines that are too long. wide leaves out tables, whose rows cannot be wrapped.
func wide(text string) (list []int) {
	fenced := false
	for i, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			fenced = !fenced
		}
		if !fenced && utf8.RuneCountInString(l) > mostColumns && !strings.HasPrefix(l, "|") && !strings.HasPrefix(l, "    ") {
			list = append(list, i+1)
		}
	}
	return list
}
