package testneeds

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"autotune/internal/output"
)

// Summary has the tests that a run left out, by the tool that they lack.
type Summary map[*Tool]map[string]bool

// Line takes a line that a test printed.
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

// Print says how many tests were left out, and how to have the tools.
func (s Summary) Print(w io.Writer) {
	for _, tool := range tools {
		if n := len(s[tool]); n > 0 {
			fmt.Fprintf(w, "left out without %s: %s; to run: %s\n", tool.Name, output.Count(n, "test"), tool.Get)
		}
	}
}
