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

// startMain is the C library's, which the start files call and which calls main.
const startMain = "__libc_start_main"

// neededBy are the functions that an object file has from others: of the runtime's, those
// are the C library's, which no kernel's file may have in their place. Small ones are the
// compiler's own, of the name's form on ARM, and lie in the program itself.
func neededBy(object string) []string {
	needed := []string{startMain}
	f, err := elf.Open(object)
	if err != nil {
		return needed // of another system
	}
	defer f.Close()
	all, _ := f.Symbols()
	for _, s := range all {
		if s.Section == elf.SHN_UNDEF && !strings.HasPrefix(s.Name, "__aarch64_") {
			needed = append(needed, s.Name)
		}
	}
	return needed
}

// ours are functions of the C library that the runtime itself replaces. A second one
// of the name does not link.
var ours = []string{"__assert_fail"}

// mostInitialisers is how many functions the start files themselves have called
// before main: one, which sets up nothing.
const mostInitialisers = 1

// initialisers is how many functions a program may have called before main. The compiler has one called for
// programs that look for races, which the runtime leaves empty.
func (c *hostCompiler) initialisers() uint64 {
	if c.options.races {
		return mostInitialisers + 1
	}
	return mostInitialisers
}

// runsEarly names what in a program runs before main, or replaces a function that does; "" if
// nothing. A file of another format has no filter. The sizes are those that the system's loader
// goes by.
func runsEarly(program []byte, needed []string, initialisers uint64) string {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return ""
	}
	defer f.Close()
	word := uint64(8)
	if f.Class == elf.ELFCLASS32 {
		word = 4
	}
	for tag, most := range map[elf.DynTag]uint64{elf.DT_INIT_ARRAYSZ: initialisers * word, elf.DT_PREINIT_ARRAYSZ: 0} {
		if sizes, err := f.DynValue(tag); err != nil || slices.ContainsFunc(sizes, func(n uint64) bool { return n > most }) {
			return "a static constructor"
		}
	}
	if f.Section(".ctors") != nil {
		return "a static constructor"
	}
	return replaces(f, needed)
}

// replaces finds functions that are called before main by their names.
func replaces(f *elf.File, needed []string) string {
	all, _ := f.Symbols()
	for _, s := range all {
		if elf.ST_TYPE(s.Info) == elf.STT_GNU_IFUNC && s.Section != elf.SHN_UNDEF {
			return fmt.Sprintf("the resolver of %s", s.Name)
		}
		if s.Section != elf.SHN_UNDEF && slices.Contains(hooks, s.Name) {
			return fmt.Sprintf("a function %s", s.Name)
		}
		if isCode(f, s) && slices.Contains(needed, s.Name) {
			return fmt.Sprintf(inPlace, s.Name)
		}
	}
	// The linker shows a name to the libraries if they have or call one like it: they
	// would call the program's.
	shown, _ := f.DynamicSymbols()
	for _, s := range shown {
		inline := elf.ST_BIND(s.Info) == elf.STB_WEAK && strings.HasPrefix(s.Name, "_Z") // of a C++ header
		if isCode(f, s) && !inline && !slices.Contains(ours, s.Name) {
			return fmt.Sprintf(inPlace, s.Name)
		}
	}
	return ""
}

const inPlace = "a function %s in place of the C library's"

// isCode tells whether a symbol is of code in the program, whatever type it says that it
// has. One with an address and no section may be.
func isCode(f *elf.File, s elf.Symbol) bool {
	if s.Section == elf.SHN_UNDEF || elf.ST_TYPE(s.Info) == elf.STT_FILE {
		return false
	}
	return int(s.Section) >= len(f.Sections) || f.Sections[s.Section].Flags&elf.SHF_EXECINSTR != 0
}
