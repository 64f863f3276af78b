package compile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"autotune/tuner/operator"
)

// NVRTC takes a quarter of a second to begin, longer than most kernels take. So several
// variants are one source: each stands in a namespace of its own with its macros, its
// includes are its own, and what it defines is undefined at its end.

// mostTogether bounds the variants of a source.
const mostTogether = 8

var (
	linkage      = regexp.MustCompile(`\bextern "C" `) // names would meet
	ownInclude   = regexp.MustCompile(`(?m)^([ \t]*#[ \t]*include[ \t]+")`)
	otherInclude = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]+<`)
	macroDefined = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)`)
)

// together makes one kernel of several, which have the same flags.
func together(kernels []operator.Kernel) operator.Kernel {
	all := operator.Kernel{File: "together.cu", Includes: map[string]string{}, Flags: kernels[0].Flags}
	var source strings.Builder
	for i, k := range kernels {
		own := func(name string) string { return fmt.Sprintf("%d/%s", i, name) }
		macros := map[string]bool{}
		add := func(name, text string) {
			for _, m := range macroDefined.FindAllStringSubmatch(text, -1) {
				macros[m[1]] = true
			}
			all.Includes[own(name)] = ownInclude.ReplaceAllString(linkage.ReplaceAllString(text, ""), "${1}"+own(""))
		}
		add(k.File, k.Source)
		for name, text := range k.Includes {
			add(name, text)
		}
		for _, m := range k.Macros {
			fmt.Fprintf(&source, "#define %s %s\n", m.Name, m.Value)
			macros[m.Name] = true
		}
		fmt.Fprintf(&source, "namespace variant%d {\n#include %q\n}\n", i, own(k.File))
		for _, name := range slices.Sorted(maps.Keys(macros)) {
			fmt.Fprintf(&source, "#undef %s\n", name)
		}
	}
	all.Source = source.String()
	return all
}

// nameTogether begins the name that a kernel has in the code of several.
func nameTogether(number int, entry string) string {
	variant := fmt.Sprintf("variant%d", number)
	return fmt.Sprintf("_ZN%d%s%d%sE", len(variant), variant, len(entry), entry)
}

// alone tells whether a kernel cannot be together with others: one that is a template is
// compiled for the names that are asked for, and a library's headers stand in no namespace.
func alone(k operator.Kernel) bool {
	texts := k.Source + strings.Join(slices.Collect(maps.Values(k.Includes)), "\n")
	return slices.ContainsFunc(k.Launches.Entries(), func(entry string) bool { return !operator.IsName(entry) }) ||
		otherInclude.MatchString(withoutEmulated.ReplaceAllString(texts, ""))
}

// withoutEmulated are the includes that only the emulator sees.
var withoutEmulated = regexp.MustCompile(`(?m)^#[ \t]*include[ \t]+<emulated/.*$`)

// groups puts variants together that may be, in their order.
func groups(all []variant) [][]variant {
	var groups [][]variant
	open := map[string]int{} // the group that takes more, by flags
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

// Variants that are compiled together are the kernels that they are alone, and what one
// defines is not the next one's.
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
	b, err := c.Compile(t.Context(), Request{Kernel: together(kernels), Arch: fmt.Sprintf("sm_%d", newest)})
	if err != nil {
		t.Fatal(err)
	}
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
	if _, err := c.Compile(t.Context(), Request{Kernel: together(kernels), Arch: fmt.Sprintf("sm_%d", newest)}); err == nil {
		t.Error("a kernel that does not compile does in company")
	}
}
