package compile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/internal/test/testtogether"
	"autotune/operator"
	"autotune/operator/tree"
)

// NVRTC needs a tenth of a second to start, longer than it needs to compile most kernels. To save NVRTC's start-up
// time, the tests compile several variants as one source.

const mostTogether = 24

var otherInclude = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]+<`)

// nameTogether returns the mangled name of a kernel's entry in a source that contains several kernels.
func nameTogether(number int, entry string) string {
	variant := testtogether.Namespace(number)
	return fmt.Sprintf("_ZN%d%s%d%sE", len(variant), variant, len(entry), entry)
}

// alone reports whether a kernel cannot share a source with other kernels. A C++ template needs a source of its own,
// because it is compiled for the requested instantiations; so does a kernel that includes a library's headers, which
// cannot be included in a namespace.
func alone(k operator.Kernel) bool {
	texts := k.Source + strings.Join(slices.Collect(maps.Values(k.Includes)), "\n")
	return slices.ContainsFunc(k.Launches.Entries(), func(entry string) bool { return !tree.IsName(entry) }) ||
		otherInclude.MatchString(withoutEmulated.ReplaceAllString(texts, ""))
}

// withoutEmulated matches the includes that only the emulator sees.
var withoutEmulated = regexp.MustCompile(`(?m)^#[ \t]*include[ \t]+<emulated/.*$`)

// groups splits the variants, in their order, into groups that can be compiled as one source.
func groups(all []variant) [][]variant {
	var groups [][]variant
	open := map[string]int{} // the group that still takes variants, by flags
	for _, v := range all {
		flags := fmt.Sprintf("%q", v.Flags)
		at, found := open[flags]
		if alone(v.Kernel) || !found || len(groups[at]) == mostTogether {
			at = len(groups)
			groups = append(groups, nil)
			if !alone(v.Kernel) {
				open[flags] = at
			}
		}
		groups[at] = append(groups[at], v)
	}
	return groups
}

// A kernel compiled together with others has the same code as when it is compiled alone, and the macros that one kernel
// defines do not reach the next kernel.
func TestTogether(t *testing.T) {
	c := openNVRTC(t, 1)
	header := "#pragma once\n#ifndef STEP\n#define STEP 1\n#endif\n#define TWICE (2 * N)\n__device__ int more(int i) { return i + TWICE + STEP; }\n"
	source := "#include \"more.cuh\"\n#ifdef ONCE\n#define LEFT 5\n#endif\n#ifndef LEFT\n#define LEFT 0\n#endif\nextern \"C\" __global__ void k(int* y) { y[threadIdx.x] = more(LEFT); }\n"
	kernel := func(macros ...operator.Macro) operator.Kernel {
		return operator.Kernel{File: "k.cu", Source: source, Includes: map[string]string{"more.cuh": header}, Macros: macros, Launches: operator.Launches{{Entry: "k"}}}
	}
	kernels := []operator.Kernel{
		kernel(operator.Macro{Name: "N", Value: "100"}, operator.Macro{Name: "ONCE", Value: "1"}, operator.Macro{Name: "STEP", Value: "7"}),
		kernel(operator.Macro{Name: "N", Value: "1000"}),
	}
	b, err := c.Compile(t.Context(), Request{Kernel: testtogether.Kernel(kernels), Arch: fmt.Sprintf("sm_%d", newest)})
	must.OK(t, err)
	for i := range kernels {
		if !strings.Contains(string(b.Code), ".text."+nameTogether(i, "k")) {
			t.Errorf("there is no kernel %d", i)
		}
	}
	for _, constant := range []uint32{5 + 2*100 + 7, 0 + 2*1000 + 1} {
		if !strings.Contains(string(b.Code), string([]byte{byte(constant), byte(constant >> 8), 0, 0})) {
			t.Errorf("no kernel stores %d", constant)
		}
	}
	kernels[1].Macros[0].Value = "none"
	if _, err := c.Compile(t.Context(), Request{Kernel: testtogether.Kernel(kernels), Arch: fmt.Sprintf("sm_%d", newest)}); err == nil {
		t.Error("a kernel that does not compile does in company")
	}
}
