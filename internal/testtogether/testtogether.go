// Package testtogether makes one source of several kernels, for tests that compile many. A
// compiler takes as long to begin as for a small kernel. Each kernel stands in a namespace of
// its own with its macros. Its includes are its own, and all that it defines is undefined at
// its end.
package testtogether

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	ownInclude   = regexp.MustCompile(`(?m)^([ \t]*#[ \t]*include[ \t]+")`)
	macroDefined = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)`)
)

// Namespace is where a kernel of several stands.
func Namespace(number int) string { return fmt.Sprintf("variant%d", number) }

// Source is that of several kernels. The zero value has none.
type Source struct {
	Includes map[string]string // the kernels' files and what they include
	lines    strings.Builder
	kernels  int
	defines  map[string][]string // the macros of each text
}

// Text includes all of them.
func (s *Source) Text() string { return s.lines.String() }

// Add adds a kernel: its file, the text, what it includes, and the values of its macros.
func (s *Source) Add(file, text string, includes, macros map[string]string) {
	if s.Includes == nil {
		s.Includes, s.defines = map[string]string{}, map[string][]string{}
	}
	own := func(name string) string { return fmt.Sprintf("%d/%s", s.kernels, name) }
	defined := map[string]bool{}
	add := func(name, text string) {
		if _, known := s.defines[text]; !known {
			s.defines[text] = nil
			for _, m := range macroDefined.FindAllStringSubmatch(text, -1) {
				s.defines[text] = append(s.defines[text], m[1])
			}
		}
		for _, macro := range s.defines[text] {
			defined[macro] = true
		}
		without := strings.ReplaceAll(text, `extern "C" `, "") // names would meet
		s.Includes[own(name)] = ownInclude.ReplaceAllString(without, "${1}"+own(""))
	}
	add(file, text)
	for name, text := range includes {
		add(name, text)
	}
	for _, name := range slices.Sorted(maps.Keys(macros)) {
		fmt.Fprintf(&s.lines, "#define %s %s\n", name, macros[name])
		defined[name] = true
	}
	fmt.Fprintf(&s.lines, "namespace %s {\n#include %q\n}\n", Namespace(s.kernels), own(file))
	for _, name := range slices.Sorted(maps.Keys(defined)) {
		fmt.Fprintf(&s.lines, "#undef %s\n", name)
	}
	s.kernels++
}
