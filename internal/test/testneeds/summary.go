package testneeds

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"autotune/internal/output"
)

// Summary maps each missing tool to the tests that were skipped because of it.
type Summary map[*Tool]map[string]bool

// Line parses a line that a test printed and counts the test if it lacked a tool.
func (s Summary) Line(test, line string) {
	_, rest, _ := strings.Cut(line, leftOut)
	at := slices.IndexFunc(tools, func(tool *Tool) bool { return strings.HasPrefix(rest, tool.Name) })
	if at < 0 {
		return
	}
	if s[tools[at]] == nil {
		s[tools[at]] = map[string]bool{}
	}
	s[tools[at]][test] = true
}

// Print prints how many tests were skipped because of each missing tool, and how to install the tool.
func (s Summary) Print(w io.Writer) {
	for _, tool := range tools {
		if n := len(s[tool]); n > 0 {
			fmt.Fprintf(w, "left out without %s: %s; to run: %s\n", tool.Name, output.Count(n, "test"), tool.Get)
		}
	}
}
