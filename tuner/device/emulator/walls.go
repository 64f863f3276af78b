package emulator

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
	"strings"
)

// The filter of system calls stands when main begins the first launch. A GPU runs
// nothing of a kernel's file before its launch; a program of the host can, and so
// could run outside of the filter. This file refuses every way to do that: static
// constructors and the like, and functions in place of the C library's, which the
// runtime calls before the filter stands.

// hooks are functions that the compiler's start files call, if they are there.
var hooks = []string{"__gmon_start__", "_ITM_registerTMCloneTable", "_ITM_deregisterTMCloneTable", "_Jv_RegisterClasses"}

// ours are functions of the C library that the runtime itself replaces. A second one
// of the name does not link.
var ours = []string{"__assert_fail"}

// mostInitialisers is how many functions the start files themselves have called
// before main: one, which sets up nothing.
const mostInitialisers = 1

// runsEarly says what of a program runs before main, or takes the place of a
// function that does; "" for nothing. A file of another format has no filter.
func runsEarly(program []byte) string {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return ""
	}
	defer f.Close()
	word := uint64(8)
	if f.Class == elf.ELFCLASS32 {
		word = 4
	}
	for _, s := range f.Sections {
		early := s.Type == elf.SHT_INIT_ARRAY && s.Size > mostInitialisers*word || s.Type == elf.SHT_PREINIT_ARRAY && s.Size > 0 || s.Name == ".ctors"
		if early {
			return "a static constructor"
		}
	}
	return replaces(f)
}

// replaces finds functions that are called before main by their names.
func replaces(f *elf.File) string {
	all, _ := f.Symbols()
	for _, s := range all {
		if elf.ST_TYPE(s.Info) == elf.STT_GNU_IFUNC && s.Section != elf.SHN_UNDEF {
			return fmt.Sprintf("the resolver of %s", s.Name)
		}
		if s.Section != elf.SHN_UNDEF && slices.Contains(hooks, s.Name) {
			return fmt.Sprintf("a function %s", s.Name)
		}
	}
	// The linker shows a function to the libraries if they have or call one of its
	// name: they would call the program's.
	shown, _ := f.DynamicSymbols()
	for _, s := range shown {
		inline := elf.ST_BIND(s.Info) == elf.STB_WEAK && strings.HasPrefix(s.Name, "_Z") // of a C++ header
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF && !inline && !slices.Contains(ours, s.Name) {
			return fmt.Sprintf("a function %s in place of the C library's", s.Name)
		}
	}
	return ""
}
