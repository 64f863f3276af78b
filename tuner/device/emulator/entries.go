package emulator

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"autotune/internal/cudafile"
	"autotune/tuner/operator"
)

// entryFile is the name under which an error in the call of a kernel appears; the line
// is the kernel's number among the entries, from 1.
const entryFile = "<entry point>"

// entryPoints is the end of the file that the C++ compiler gets of a kernel: what the
// runtime knows the launched kernels by.
func entryPoints(k operator.Kernel) string {
	var b, rows strings.Builder
	for i, entry := range k.Launches.Entries() {
		fmt.Fprintf(&b, "#line %d %q\n%s AUTOTUNE_ENTRY(%d, %s)\n", i+1, entryFile, globalCheck(k, entry), i, entry)
		fmt.Fprintf(&rows, " AUTOTUNE_ROW(%d)", i)
	}
	return b.String() + "AUTOTUNE_ENTRIES(" + strings.TrimSpace(rows.String()) + ")\n"
}

// templateEntry is a kernel that is named with template arguments.
var templateEntry = regexp.MustCompile(`^(?:.*::)?(\w+)\s*<.*>$`)

// globalCheck refuses a function that is not __global__. Compilers do not tell whether
// a template is, so that its declaration is looked for.
func globalCheck(k operator.Kernel, entry string) string {
	m := templateEntry.FindStringSubmatch(entry)
	if m == nil {
		return "AUTOTUNE_GLOBAL(" + entry + ")"
	}
	declared := false
	for _, text := range append(textsOf(k.Includes), k.Source) {
		for _, d := range regexp.MustCompile(`[^;{}]*\b`+m[1]+`\s*\(`).FindAllString(cudafile.Blank(text), -1) {
			if strings.Contains(d, "__global__") {
				return ""
			}
			declared = declared || strings.Contains(d, "template")
		}
	}
	if declared {
		return `static_assert(false, "it is not __global__");`
	}
	return "" // its declaration may come from a macro
}

// guiltyEntry is the kernel whose call an error is about; "" if it is about none.
func guiltyEntry(k operator.Kernel, words string) string {
	_, at, found := strings.Cut(words, entryFile+":")
	if !found {
		return ""
	}
	digits, _, _ := strings.Cut(at, ":")
	entries := k.Launches.Entries()
	number, _ := strconv.Atoi(digits)
	return entries[min(max(number, 1), len(entries))-1]
}
