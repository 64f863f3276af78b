package testneeds

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

type Summary struct {
	tests   map[string]map[string]bool // by tool, by package and name
	scripts map[string][]string        // by tool: packages
}

// Line takes a line that a test printed.
func (s *Summary) Line(pkg, test, line string) {
	_, rest, found := strings.Cut(line, leftOut)
	if !found {
		return
	}
	at := slices.IndexFunc(tools, func(tool *Tool) bool { return strings.HasPrefix(rest, tool.Name) })
	if at < 0 {
		return
	}
	name := tools[at].Name
	if s.tests == nil {
		s.tests, s.scripts = map[string]map[string]bool{}, map[string][]string{}
	}
	switch {
	case !strings.Contains(rest, inScripts):
		if s.tests[name] == nil {
			s.tests[name] = map[string]bool{}
		}
		s.tests[name][pkg+" "+test] = true
	case !slices.Contains(s.scripts[name], pkg):
		s.scripts[name] = append(s.scripts[name], pkg)
	}
}

func (s *Summary) Print(w io.Writer) {
	for _, tool := range tools {
		var parts []string
		switch n := len(s.tests[tool.Name]); n {
		case 0:
		case 1:
			parts = append(parts, "1 test")
		default:
			parts = append(parts, fmt.Sprintf("%d tests", n))
		}
		for _, pkg := range s.scripts[tool.Name] {
			parts = append(parts, "parts of the scripts of "+pkg)
		}
		if parts != nil {
			fmt.Fprintf(w, "left out without %s: %s; to run them: %s\n", tool.Name, strings.Join(parts, ", "), tool.Get)
		}
	}
}
