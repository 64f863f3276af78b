package operator_test

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"autotune/device"
	"autotune/device/compile"
	"autotune/internal/test/must"
	"autotune/internal/test/testtogether"
	"autotune/operator"
	"autotune/operator/tree"
)

// Starting the emulator's compiler and linker takes longer than compiling most kernels, so the tests compile several
// kernels as one program. A compiled program contains a table of its kernels, from which a launch selects a kernel by
// index. The binary of each kernel is a copy of the program in which the kernel's own entries are first in the table.

// mostTogether limits the kernels in a program, because their static shared memory adds up. References are small and
// use almost no shared memory, so more of them can share the cost of a program: starting the compiler, reading headers,
// linking.
const (
	mostTogether      = 8
	referencesAtATime = 24
)

// emulatedFolder contains headers that kernels include only on the emulator.
const emulatedFolder = "../device/emulator/shim/emulated"

var emulatedInclude = regexp.MustCompile(`(#[ \t]*include[ \t]+)<(emulated/[^>]+)>`)

// elements is the only emulator header that does not depend on a kernel, so it is included outside of all namespaces.
const elements = "emulated/elements.cuh"

// withEmulated adds the emulator's headers to a kernel's own includes, because each namespace needs a copy of them.
func withEmulated(k operator.Kernel) (operator.Kernel, error) {
	headers, err := emulatedHeaders()
	own := maps.Clone(headers)
	for name, text := range k.Includes {
		own[name] = adopted(text)
	}
	k.Source, k.Includes = adopted(k.Source), own
	return k, err
}

// emulatedHeaders returns the emulator's headers, changed to be a kernel's own includes.
var emulatedHeaders = sync.OnceValues(func() (map[string]string, error) {
	own := map[string]string{}
	headers, err := filepath.Glob(emulatedFolder + "/*.cuh")
	for _, path := range headers {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		own["emulated/"+filepath.Base(path)] = adopted(strings.ReplaceAll(string(text), `#include "`, `#include "emulated/`))
	}
	return own, err
})

// adopted changes the #include lines of a text, so that the emulator's headers count as a kernel's own files.
func adopted(text string) string {
	if !strings.Contains(text, "emulated/") {
		return text // as most
	}
	text = emulatedInclude.ReplaceAllString(text, `$1"$2"`)
	return strings.ReplaceAll(text, strconv.Quote(elements), "<"+elements+">")
}

// alone tells whether a kernel cannot share a program with others. A C++ template or a kernel with __constant__
// variables needs a program of its own, because the emulator finds templates and variables by names without a
// namespace.
func alone(k operator.Kernel) bool {
	texts := k.Source
	for _, text := range k.Includes {
		texts += text
	}
	return strings.Contains(texts, "__constant__") ||
		slices.ContainsFunc(k.Launches.Entries(), func(entry string) bool { return !tree.IsName(entry) })
}

// compileTogether compiles kernels into programs of at most the given number of kernels, those of one file together.
// compileTogether returns no binary for a kernel that shares no program with others.
func compileTogether(t *testing.T, d device.Device, kernels []operator.Kernel, most int) []*compile.Binary {
	t.Helper()
	binaries := make([]*compile.Binary, len(kernels))
	first := map[string]int{} // of the kernels that are the same code
	same := make([]int, len(kernels))
	var different []int
	for i, k := range kernels {
		digest := k.Digest()[:operator.CodeDigits]
		if _, known := first[digest]; !known {
			first[digest] = i
		}
		if same[i] = first[digest]; same[i] == i && !alone(k) {
			different = append(different, i)
		}
	}
	slices.SortStableFunc(different, func(a, b int) int { return strings.Compare(kernels[a].File, kernels[b].File) })
	byFlags := map[string][]int{}
	for _, i := range different {
		flags := fmt.Sprintf("%q", kernels[i].Flags)
		byFlags[flags] = append(byFlags[flags], i)
	}
	var groups [][]int
	for _, some := range byFlags {
		groups = slices.AppendSeq(groups, slices.Chunk(some, most))
	}
	var work errgroup.Group
	work.SetLimit(d.Compiler().Workers())
	for _, group := range groups {
		work.Go(func() error {
			some := make([]operator.Kernel, len(group))
			for i, at := range group {
				some[i] = kernels[at]
			}
			made, err := compileProgram(d, some)
			for i, b := range made {
				binaries[group[i]] = b
			}
			return err
		})
	}
	must.OK(t, work.Wait())
	for i, at := range same {
		binaries[i] = binaries[at]
	}
	return binaries
}

// compileProgram compiles kernels as one program. compileProgram returns no binaries if compilation fails.
func compileProgram(d device.Device, kernels []operator.Kernel) ([]*compile.Binary, error) {
	own := make([]operator.Kernel, len(kernels))
	var launches operator.Launches
	for i, k := range kernels {
		var err error
		if own[i], err = withEmulated(k); err != nil {
			return nil, err
		}
		for _, entry := range k.Launches.Entries() {
			launches = append(launches, operator.Launch{Entry: testtogether.Namespace(i) + "::" + entry})
		}
	}
	all := testtogether.Kernel(own)
	all.Source = "#include <" + elements + ">\n" + all.Source
	all.Launches = launches
	b, err := d.Compiler().Compile(context.Background(), compile.Request{Kernel: all, Arch: d.Arch(), Timeout: 10 * time.Minute})
	if err != nil {
		return nil, nil // compiling each kernel alone will show which is at fault
	}
	var binaries []*compile.Binary
	first := 0
	for _, k := range kernels {
		mine := *b
		if mine.Code, err = beginWith(b.Code, first, len(launches)); err != nil {
			return nil, err
		}
		first += len(k.Launches.Entries())
		binaries = append(binaries, &mine)
	}
	return binaries, nil
}

// beginWith returns a copy of a program whose table of entries begins with the given entry.
func beginWith(code []byte, number, entries int) ([]byte, error) {
	file, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		return nil, err
	}
	symbols, err := file.Symbols()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == "autotune_entries" })
	if at < 0 {
		return nil, fmt.Errorf("a program of %d kernels has no table of them", entries)
	}
	s := symbols[at]
	section := file.Sections[s.Section]
	begin := section.Offset + s.Value - section.Addr
	table := code[begin : begin+s.Size]
	copied := slices.Clone(code)
	copy(copied[begin:], table[number*len(table)/entries:])
	return copied, nil
}
