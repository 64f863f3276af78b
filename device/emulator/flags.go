package emulator

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/cudafile"
	"autotune/internal/lists"
	"autotune/operator"
)

// hostFlags are those of a kernel's flags that mean the same to the host's compiler:
// definitions of macros and the version of C++. All others are a GPU compiler's own.
func hostFlags(flags []string) []string {
	var host []string
	for i := 0; i < len(flags); i++ {
		flag := flags[i]
		for long, short := range map[string]string{"--define-macro=": "-D", "--undefine-macro=": "-U", "--std=": "-std="} {
			if value, found := strings.CutPrefix(flag, long); found {
				flag = short + value
			}
		}
		if slices.Contains([]string{"-D", "-U"}, flag) && i+1 < len(flags) {
			i++
			flag += flags[i]
		}
		if len(flag) > 2 && (flag[:2] == "-D" || flag[:2] == "-U") || strings.HasPrefix(flag, "-std=c++") {
			host = append(host, flag)
		}
	}
	return host
}

// spins finds accesses by which a kernel may wait in a loop for other threads: volatile accesses,
// atomics, loads past the first cache.
var spins = regexp.MustCompile(`atomic|\b(?:volatile|__ldcg|__ldcv|__nanosleep)\b`)

// volatileAssembly is no access to memory.
var volatileAssembly = regexp.MustCompile(`\b(?:asm|__asm__)\s+(?:volatile|__volatile__)\b`)

// given are statements that are only an atomic operation: no loop waits for its result. The
// condition of a `for` stands on the line of its `for`.
var given = regexp.MustCompile(`([{}]|;[ \t]*\n)(?:\s*atomic\w+\s*\([^;{}=]*\)\s*;)+`)

// mayWait tells whether a text has what threads wait in a loop with.
func mayWait(text string) bool {
	if !spins.MatchString(text) {
		return false // so that most texts are not searched closely
	}
	text = volatileAssembly.ReplaceAllString(cudafile.Blank(text), "")
	return spins.MatchString(given.ReplaceAllString(text, "$1"))
}

// spinningFlags let a thread that spins be interrupted where the threads that it waits for may share its thread of
// the machine: the compiler puts a call into each basic block, and the runtime lets others run after some thousand of
// them. Most kernels wait only at barriers, and stay as fast as they are.
func spinningFlags(k operator.Kernel) []string {
	for _, text := range append(textsOf(k.Includes), k.Source) {
		if mayWait(text) {
			return []string{"-fsanitize-coverage=trace-pc"}
		}
	}
	return nil
}

// textsOf are the texts of includes, in the order of their names.
func textsOf(includes map[string]string) []string {
	return lists.Of(slices.Sorted(maps.Keys(includes)), func(name string) string { return includes[name] })
}
