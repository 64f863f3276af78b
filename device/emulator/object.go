package emulator

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A variant's program sets a filter of system calls before it begins the first launch. On a GPU, no code of a kernel's
// file runs before its launch. In a program on the host, constructors and similar code in the kernel's file can run
// earlier, before the system-call filter is set. The functions in this file inspect the object file of a kernel before
// it is linked. Code and data that the system or the C library would run or write to by itself are refused. All symbols
// that the object file defines are renamed, so that none replaces a symbol of the runtime or a library.

// ownName is the prefix of all renamed symbols of a kernel's file.
const ownName = "kernel."

// tables are the symbols of a kernel's file that the runtime reads; see shim/entry.h.
var tables = []string{"autotune_entries", "autotune_entry_count"}

// plainSections matches the sections with functions, variables, and data for debuggers and linkers. Sections with names
// that plainSections does not match may make the linker or the system run or load something.
var plainSections = regexp.MustCompile(`^(?:\.(?:text|data|rodata|bss|tdata|tbss|ldata|lbss|lrodata|eh_frame|gcc_except_table|debug)(?:[._].*)?|autotune_shared|` +
	`\.(?:comment|group|symtab|strtab|shstrtab|symtab_shndx|note\.GNU-stack|note\.gnu\.property)|)$`)

// plainTypes lists the types of harmless sections, because the linker and the system also act on types.
var plainTypes = []elf.SectionType{
	elf.SHT_NULL, elf.SHT_PROGBITS, elf.SHT_SYMTAB, elf.SHT_STRTAB, elf.SHT_RELA, elf.SHT_NOTE, elf.SHT_NOBITS, elf.SHT_GROUP, elf.SHT_SYMTAB_SHNDX,
	0x70000001, // unwind tables on x86
}

var constructors = regexp.MustCompile(`^\.(?:preinit_array|init_array|ctors|init)(?:\..*)?$`)

// initialArray is the section of constructors; the compiler itself adds a constructor when it instruments memory
// accesses.
var initialArray = regexp.MustCompile(`^\.init_array(?:\..*)?$`)

// dynamicRelocations recognises relocations for the system's loader, which no compiler writes into object files.
var dynamicRelocations = map[elf.Machine]func(kind uint32) bool{
	elf.EM_X86_64: func(kind uint32) bool {
		return slices.Contains([]elf.R_X86_64{elf.R_X86_64_COPY, elf.R_X86_64_GLOB_DAT, elf.R_X86_64_JMP_SLOT, elf.R_X86_64_RELATIVE, elf.R_X86_64_IRELATIVE, elf.R_X86_64_RELATIVE64}, elf.R_X86_64(kind))
	},
	elf.EM_AARCH64: func(kind uint32) bool { return kind >= uint32(elf.R_AARCH64_COPY) },
}

type object struct {
	file *elf.File
	all  []byte
}

// openObject reads an object file, or returns nil if there is no system-call filter for the file's system or processor.
func openObject(all []byte) *object {
	f, err := elf.NewFile(bytes.NewReader(all))
	if err != nil || dynamicRelocations[f.Machine] == nil || f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return nil
	}
	return &object{f, all}
}

// refused names the content of an object file that no kernel may have, or returns "" if there is none. refused allows a
// given number of constructors, because the compiler itself adds them.
func (o *object) refused(initialisers uint64) string {
	const pointerBytes = 8
	left := initialisers * pointerBytes
	for _, s := range o.file.Sections {
		name := strings.TrimPrefix(s.Name, ".rela")
		switch {
		case initialArray.MatchString(s.Name) && s.Type == elf.SHT_INIT_ARRAY && s.Size <= left:
			left -= s.Size
		case initialArray.MatchString(name) && s.Type == elf.SHT_RELA && initialisers > 0:
		case constructors.MatchString(name) || s.Type == elf.SHT_INIT_ARRAY || s.Type == elf.SHT_PREINIT_ARRAY:
			return "a static constructor" + runsEarly
		case !plainSections.MatchString(name) || !slices.Contains(plainTypes, s.Type):
			return fmt.Sprintf("the section %s (%v) is none of a kernel's", s.Name, s.Type)
		}
	}
	return cmp.Or(o.refusedSymbol(), o.refusedRelocation())
}

const runsEarly = " would run before the kernel is launched, which nothing does on a GPU"

func (o *object) refusedSymbol() string {
	symbols, _ := o.file.Symbols()
	for _, s := range symbols {
		if strings.Contains(s.Name, "@") {
			return fmt.Sprintf("the symbol %s has a version, as only a library's may", s.Name)
		}
		if s.Section == elf.SHN_UNDEF {
			continue
		}
		if elf.ST_TYPE(s.Info) == elf.STT_GNU_IFUNC {
			return "the resolver of " + s.Name + runsEarly
		}
		// Tensors are copied to variables, so the position and size of each variable must be checked. A variable that
		// exceeds its section of the object file could overlap a library's data.
		if at := int(s.Section); at < len(o.file.Sections) && elf.ST_TYPE(s.Info) != elf.STT_FILE {
			if room := o.file.Sections[at].Size; s.Value > room || s.Size > room-s.Value {
				return fmt.Sprintf("the symbol %s lies outside of its section", s.Name)
			}
		}
	}
	return ""
}

func (o *object) refusedRelocation() string {
	for _, s := range o.file.Sections {
		if s.Type != elf.SHT_RELA || int(s.Info) >= len(o.file.Sections) {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return err.Error()
		}
		var r elf.Rela64
		for reader := bytes.NewReader(data); binary.Read(reader, binary.LittleEndian, &r) == nil; {
			kind := elf.R_TYPE64(r.Info)
			if dynamicRelocations[o.file.Machine](kind) || r.Off >= o.file.Sections[s.Info].Size {
				return fmt.Sprintf("the relocation %d of %s at %d is none of a compiler's", kind, o.file.Sections[s.Info].Name, r.Off)
			}
		}
	}
	return ""
}

// The following constants describe 64-bit ELF files: the sizes of symbols and section headers, and offsets in the
// file's header.
const (
	symbolBytes    = 24
	headersAt      = 0x28
	headerBytes    = 64
	headerOffsetAt = 0x18
	headerSizeAt   = 0x20
)

// own renames all symbols that the file defines, except those that the runtime reads. The new names of symbols are in a
// new string table at the file's end; the old table stays, since sections may use it too.
func (o *object) own() ([]byte, error) {
	symbols, err := o.file.Symbols()
	table := o.file.SectionByType(elf.SHT_SYMTAB)
	if errors.Is(err, elf.ErrNoSymbols) || table == nil {
		return o.all, nil // the file defines no symbols
	}
	if err != nil {
		return nil, err
	}
	names, err := o.file.Sections[table.Link].Data() // Symbols has read it too
	if err != nil {
		return nil, err
	}
	all, grown := slices.Clone(o.all), slices.Clone(names)
	header := binary.LittleEndian.Uint64(all[headersAt:]) + headerBytes*uint64(table.Link)
	for i, s := range symbols {
		kind := elf.ST_TYPE(s.Info)
		if s.Section == elf.SHN_UNDEF || s.Name == "" || kind == elf.STT_FILE || kind == elf.STT_SECTION || slices.Contains(tables, s.Name) {
			continue
		}
		at := table.Offset + symbolBytes*uint64(i+1) // the first symbol in the file is empty
		binary.LittleEndian.PutUint32(all[at:], uint32(len(grown)))
		grown = append(append(append(grown, ownName...), s.Name...), 0)
	}
	binary.LittleEndian.PutUint64(all[header+headerOffsetAt:], uint64(len(all)))
	binary.LittleEndian.PutUint64(all[header+headerSizeAt:], uint64(len(grown)))
	return append(all, grown...), nil
}

type variable struct {
	address, bytes uint64
}

// mangled matches the mangled name of a variable with internal linkage: a prefix, the name's length, and the name,
// perhaps followed by an E.
var mangled = regexp.MustCompile(`^(?:_ZL|_ZN12_GLOBAL__N_1L?)(\d+)(\w+)$`)

func plainName(symbol string) string {
	if m := mangled.FindStringSubmatch(symbol); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n <= len(m[2]) {
			return m[2][:n]
		}
	}
	return symbol
}

// variablesOf maps names to the kernel's variables in a program that are outside of functions and namespaces.
func variablesOf(code []byte) (map[string]variable, error) {
	file, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		return nil, fmt.Errorf("emulator: read the program's variables: %w", err)
	}
	symbols, err := file.Symbols()
	if err != nil {
		return nil, fmt.Errorf("emulator: read the program's variables: %w", err)
	}
	found := map[string]variable{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_OBJECT || int(s.Section) >= len(file.Sections) || file.Sections[s.Section].Flags&elf.SHF_WRITE == 0 {
			continue
		}
		if name, its := strings.CutPrefix(s.Name, ownName); its {
			found[plainName(name)] = variable{s.Value, s.Size}
		}
	}
	return found, nil
}

// placeSymbols finds the addresses of variables that tensors are copied to. problem is "" or says why a launch fails.
func (j *job) placeSymbols(code []byte) (problem string, err error) {
	wanted := func(a jobArgument) bool { return a.Symbol != "" && a.Elements > 0 }
	if !slices.ContainsFunc(j.arguments, wanted) {
		return "", nil
	}
	variables, err := variablesOf(code)
	if err != nil {
		return "", err
	}
	for i, a := range j.arguments {
		if !wanted(a) {
			continue
		}
		v, found := variables[a.Symbol]
		switch {
		case !found:
			return fmt.Sprintf("the kernel has no __constant__ variable %s for %s", a.Symbol, a.Name), nil
		case v.bytes < uint64(a.Bytes()):
			return fmt.Sprintf("the __constant__ variable %s has %d bytes, %s takes %d", a.Symbol, v.bytes, a.Name, a.Bytes()), nil
		}
		j.arguments[i].symbol = v.address
	}
	return "", nil
}
