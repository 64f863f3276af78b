// Package testtogether puts several kernels into one source for tests that compile many, because starting a compiler
// takes as long as compiling a small kernel. Each kernel is in a namespace of its own with its macros, which are
// undefined after the kernel. Kernels that are made from the same source files share these files.
package testtogether

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"autotune/operator"
)

var (
	ownInclude   = regexp.MustCompile(`(?m)^([ \t]*#[ \t]*include[ \t]+")`)
	macroDefined = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)`)
	once         = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*pragma[ \t]+once\b`)
)

func Namespace(number int) string { return fmt.Sprintf("variant%d", number) }

// globalName matches a name of the global namespace, written as ::name.
var globalName = regexp.MustCompile(`([\s(,])::([A-Za-z_])`)

// Hidden puts the text of a kernel's file into an unnamed namespace. A compiler checks a file in an unnamed namespace,
// but generates no code for it if no other code uses it.
func Hidden(text string, number int) string {
	return "namespace {\n" + globalName.ReplaceAllString(text, "${1}"+Namespace(number)+"::${2}") + "\n}\n"
}

// Source is one source made of several kernels. The zero value of Source has no kernels.
type Source struct {
	Includes map[string]string // the kernels' files and what they include
	lines    strings.Builder
	kernels  int
	sets     []set
}

// set holds the source files from which several kernels of a Source are made. The files of a set lie in a folder whose
// name is the set's number.
type set struct {
	texts   map[string]string // as they were given, by name
	defines []string          // the macros that they define
}

func (s *Source) Text() string { return s.lines.String() }

func (s *Source) Add(file, text string, includes map[string]string, macros []operator.Macro) {
	texts := map[string]string{}
	maps.Copy(texts, includes)
	texts[file] = text
	at := slices.IndexFunc(s.sets, func(other set) bool { return maps.Equal(other.texts, texts) })
	if at < 0 {
		at = len(s.sets)
		s.sets = append(s.sets, s.written(texts, at))
	}
	defined := slices.Clone(s.sets[at].defines)
	for _, m := range macros {
		fmt.Fprintf(&s.lines, "#define %s %s\n", m.Name, m.Value)
		defined = append(defined, m.Name)
	}
	fmt.Fprintf(&s.lines, "namespace %s {\n#include \"%d/%s\"\n}\n", Namespace(s.kernels), at, file)
	slices.Sort(defined)
	for _, name := range slices.Compact(defined) {
		fmt.Fprintf(&s.lines, "#undef %s\n", name)
	}
	s.kernels++
}

// written stores files in the folder that has the given number as its name. written turns `#pragma once` into a guard
// that each kernel resets.
func (s *Source) written(texts map[string]string, number int) set {
	if s.Includes == nil {
		s.Includes = map[string]string{}
	}
	of := set{texts: texts}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := strings.ReplaceAll(texts[name], `extern "C" `, "") // names of several kernels would collide
		if once.MatchString(text) {
			guard := fmt.Sprintf("TOGETHER_%d_%d", number, len(s.Includes))
			text = fmt.Sprintf("#ifndef %s\n#define %s\n%s\n#endif\n", guard, guard, once.ReplaceAllString(text, ""))
		}
		for _, m := range macroDefined.FindAllStringSubmatch(text, -1) {
			of.defines = append(of.defines, m[1])
		}
		s.Includes[fmt.Sprintf("%d/%s", number, name)] = ownInclude.ReplaceAllString(text, fmt.Sprintf("${1}%d/", number))
	}
	return of
}

// Kernel joins several kernels with the same flags into one kernel source.
func Kernel(kernels []operator.Kernel) operator.Kernel {
	var all Source
	for _, k := range kernels {
		all.Add(k.File, k.Source, k.Includes, k.Macros)
	}
	return operator.Kernel{File: "together.cu", Source: all.Text(), Includes: all.Includes, Flags: kernels[0].Flags}
}
