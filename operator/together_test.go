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

// The emulator's compiler takes longer to begin and to link than for most kernels. So several kernels, for different
// problems and configurations, are one program. A program's kernels stand in a table, and a launch names its kernel by
// its place there. Each kernel's binary is a copy of the program that has its own entries first.

// How many kernels a program has at most. Their static shared memory adds up. References are small and have
// next to none, so that more of them share what a program costs: a start of the compiler, headers, a link.
const (
	mostTogether      = 8
	referencesAtATime = 24
)

// emulatedFolder has the headers that a kernel includes on the emulator only.
const emulatedFolder = "../device/emulator/shim/emulated"

var emulatedInclude = regexp.MustCompile(`(#[ \t]*include[ \t]+)<(emulated/[^>]+)>`)

// elements is the one of them that needs nothing of a kernel. It stands before all namespaces.
const elements = "emulated/elements.cuh"

// withEmulated has a kernel include the emulator's headers as its own ones, since each namespace needs them.
func withEmulated(k operator.Kernel) (operator.Kernel, error) {
	headers, err := emulatedHeaders()
	own := maps.Clone(headers)
	for name, text := range k.Includes {
		own[name] = adopted(text)
	}
	k.Source, k.Includes = adopted(k.Source), own
	return k, err
}

// emulatedHeaders are the emulator's headers as a kernel's own ones.
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

// adopted is a text that includes the emulator's headers as its own ones.
func adopted(text string) string {
	if !strings.Contains(text, "emulated/") {
		return text // as most
	}
	text = emulatedInclude.ReplaceAllString(text, `$1"$2"`)
	return strings.ReplaceAll(text, strconv.Quote(elements), "<"+elements+">")
}

// alone tells whether a kernel cannot be together with others. A template's name stands in no
// namespace, and a __constant__ variable is found by its plain name.
func alone(k operator.Kernel) bool {
	texts := k.Source
	for _, text := range k.Includes {
		texts += text
	}
	return strings.Contains(texts, "__constant__") ||
		slices.ContainsFunc(k.Launches.Entries(), func(entry string) bool { return !tree.IsName(entry) })
}

// compileTogether compiles kernels, so many a program, those of one file together as far as they go. A kernel has
// no binary where it must be compiled alone, which then tells why.
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

// sourceOf makes one kernel of several, which have the same flags.
func sourceOf(kernels []operator.Kernel) operator.Kernel {
	var all testtogether.Source
	for _, k := range kernels {
		macros := map[string]string{}
		for _, m := range k.Macros {
			macros[m.Name] = m.Value
		}
		all.Add(k.File, k.Source, k.Includes, macros)
	}
	return operator.Kernel{File: "together.cu", Source: all.Text(), Includes: all.Includes, Flags: kernels[0].Flags}
}

// compileProgram compiles kernels as one program. There are no binaries where that fails.
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
	all := sourceOf(own)
	all.Source = "#include <" + elements + ">\n" + all.Source
	all.Launches = launches
	b, err := d.Compiler().Compile(context.Background(), compile.Request{Kernel: all, Arch: d.Arch(), Timeout: 10 * time.Minute})
	if err != nil {
		return nil, nil // one of them is guilty, and tells so alone
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

// beginWith copies a program, so that its table of entries begins with the one of that number.
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
