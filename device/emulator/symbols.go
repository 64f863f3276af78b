package emulator

import (
	"bytes"
	"debug/elf"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// variable is a variable of a program that can be written.
type variable struct {
	address, bytes uint64
}

// mangled begins the name of a variable that is the file's own; its length follows, and the name, and perhaps an E.
var mangled = regexp.MustCompile(`^(?:_ZL|_ZN12_GLOBAL__N_1L?)(\d+)(\w+)$`)

// plainName is the name that a variable has in the source.
func plainName(symbol string) string {
	if m := mangled.FindStringSubmatch(symbol); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n <= len(m[2]) {
			return m[2][:n]
		}
	}
	return symbol
}

// variablesOf are the variables of a program's kernel outside of functions and namespaces, by their names.
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

// placeSymbols finds the variables that tensors are copied to. The problem is what a
// launch fails with; "" if there is none.
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
