package emulator

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/cudafile"
	"autotune/internal/lists"
	"autotune/operator"
)

// prepare returns the file that the C++ compiler gets for a kernel. The prepared file contains the kernel's source,
// line for line, with declarations that are not valid C++ rewritten, followed by the functions that the runtime calls.
func prepare(k operator.Kernel, sanitize bool) string {
	var b strings.Builder
	// A kernel's macros are defined in the file and not on the compiler's command line, because the runtime's own
	// headers may use their names.
	b.WriteString("#line 1 \"<command-line>\"\n") // the file name in messages about macros
	for _, m := range k.Macros {
		fmt.Fprintf(&b, "#define %s %s\n", m.Name, m.Value)
	}
	// A section of an object file must not contain variables of templates together with other variables. Under a
	// sanitizer, an unnamed namespace prevents sections that mix variables of templates with others, because it makes
	// all names local to the file.
	if sanitize {
		b.WriteString("namespace {\n")
	}
	fmt.Fprintf(&b, "#line 1 %q\n", k.File)
	b.WriteString(rewriteDynamicShared(k.Source, k.File))
	b.WriteString("\n")
	if sanitize {
		b.WriteString("}\n")
	}
	for _, m := range k.Macros {
		fmt.Fprintf(&b, "#undef %s\n", m.Name)
	}
	b.WriteString(entryPoints(k))
	return b.String()
}

// rewriting is a version number that must be raised when the rewriting of sources changes, so that kernels are
// compiled anew.
const rewriting = 2

// dynamicShared matches a declaration of dynamic shared memory: type with qualifiers, name, and further dimensions.
var dynamicShared = regexp.MustCompile(
	`\bextern\s+((?:__shared__|__align__\s*\([^()]*\)|alignas\s*\([^()]*\)|volatile|\s)*__shared__(?:__align__\s*\([^()]*\)|alignas\s*\([^()]*\)|\s)*)` +
		`([A-Za-z_](?:[\w:<>,\s]*?[\w>])?)\s+(\w+)\s*\[\s*\]((?:\s*\[[^\[\];]*\])*)\s*;`)

// rewriteDynamicShared turns each `extern __shared__ T name[];` into a reference to the block's dynamic shared memory.
// If a dynamic shared array is declared at file scope, its name becomes a macro instead, because a global reference
// could not change with the block that runs.
func rewriteDynamicShared(source, file string) string {
	if !strings.Contains(source, "extern") || !strings.Contains(source, "__shared__") {
		return source // most headers return here
	}
	blank := cudafile.Blank(source)
	var b strings.Builder
	last := 0
	for _, m := range dynamicShared.FindAllStringSubmatchIndex(blank, -1) {
		declared := source[m[0]:m[1]]
		kind, name, more := source[m[4]:m[5]], source[m[6]:m[7]], source[m[8]:m[9]]
		memory := fmt.Sprintf("*reinterpret_cast<autotune_dynamic_%s*>(autotune_dynamic_shared())", name)
		array := fmt.Sprintf("typedef %s autotune_dynamic_%s[]%s;", kind, name, more)
		lines := strings.Count(declared, "\n")
		b.WriteString(source[last:m[0]])
		if atFileScope(blank[:m[0]]) {
			line := 1 + strings.Count(source[:m[1]], "\n")
			fmt.Fprintf(&b, "%s\n#define %s (%s)\n#line %d %q\n", array, name, memory, line, file)
		} else {
			fmt.Fprintf(&b, "%s autotune_dynamic_%s& %s = %s;%s", array, name, name, memory, strings.Repeat("\n", lines))
		}
		last = m[1]
	}
	b.WriteString(source[last:])
	return b.String()
}

// atFileScope reports whether a text, in which comments and strings are blank, ends outside of all braces except those
// of namespaces and linkage.
func atFileScope(text string) bool {
	var open []bool // of each open brace: whether it is another one
	head := 0       // where what an open brace belongs to begins at the earliest
	for i := range len(text) {
		switch {
		case text[i] == '{':
			open = append(open, !transparent.MatchString(text[head:i]))
		case text[i] == '}' && len(open) > 0:
			open = open[:len(open)-1]
		}
		if strings.IndexByte("{};", text[i]) >= 0 {
			head = i + 1
		}
	}
	return !slices.Contains(open, true)
}

var transparent = regexp.MustCompile(`(?:\bnamespace(?:\s+[\w:]+)?|\bextern\s+" *")\s*$`)

// entryFile is the file name under which an error in the generated call of a kernel appears. In an error about the file
// entryFile, the line number is the kernel's number among the entries, counted from 1.
const entryFile = "<entry point>"

// entryPoints returns the end of the file that the C++ compiler gets for a kernel: the table through which the runtime
// finds the launched kernels.
func entryPoints(k operator.Kernel) string {
	var b, rows strings.Builder
	for i, entry := range k.Launches.Entries() {
		global := "AUTOTUNE_GLOBAL(" + entry + ")"
		if strings.HasSuffix(entry, ">") {
			global = "" // compilers do not tell whether a template is __global__
		}
		fmt.Fprintf(&b, "#line %d %q\n%s AUTOTUNE_ENTRY(%d, %s)\n", i+1, entryFile, global, i, entry)
		fmt.Fprintf(&rows, " AUTOTUNE_ROW(%d)", i)
	}
	return b.String() + "AUTOTUNE_ENTRIES(" + strings.TrimSpace(rows.String()) + ")\n"
}

// guiltyEntry returns the kernel whose generated call an error is about, or "" if the error is about none.
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

// hostFlags returns those of a kernel's flags that mean the same to the host's compiler: definitions of macros and the
// C++ version. hostFlags drops all other flags of a kernel, because only GPU compilers know them.
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

// spins matches accesses with which a kernel may wait in a loop for other threads: volatile accesses, atomics, and
// loads that bypass the L1 cache.
var spins = regexp.MustCompile(`atomic|\b(?:volatile|__ldcg|__ldcv|__nanosleep)\b`)

// volatileAssembly matches `asm volatile`, in which the keyword volatile does not denote a memory access.
var volatileAssembly = regexp.MustCompile(`\b(?:asm|__asm__)\s+(?:volatile|__volatile__)\b`)

// given matches statements that consist only of an atomic operation, because no loop can wait for an unused result. The
// pattern `given` assumes that a `for` and its condition are on one line.
var given = regexp.MustCompile(`([{}]|;[ \t]*\n)(?:\s*atomic\w+\s*\([^;{}=]*\)\s*;)+`)

// mayWait reports whether source text contains memory accesses with which threads may wait for each other in a loop.
func mayWait(text string) bool {
	if !spins.MatchString(text) {
		return false // a quick test that spares most texts the closer search
	}
	text = volatileAssembly.ReplaceAllString(cudafile.Blank(text), "")
	return spins.MatchString(given.ReplaceAllString(text, "$1"))
}

// spinningFlags returns flags that let a spinning thread be interrupted, because the threads that it waits for may run
// on the same CPU thread. With the flags for spinning threads, the compiler inserts a call into each basic block, and
// after some thousand calls the runtime switches to other threads. Kernels that wait only at barriers, which are most
// kernels, are compiled without the flags for spinning threads and stay fast.
func spinningFlags(k operator.Kernel) []string {
	for _, text := range append(textsOf(k.Includes), k.Source) {
		if mayWait(text) {
			return []string{"-fsanitize-coverage=trace-pc"}
		}
	}
	return nil
}

func textsOf(includes map[string]string) []string {
	return lists.Of(slices.Sorted(maps.Keys(includes)), func(name string) string { return includes[name] })
}
