package emulator

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"autotune/device/compile"
	"autotune/operator"
)

// diagnostic matches an error in the compiler's log: file, line, message. An error in a macro of the command line has
// no line number, and an error of the compiler itself has no file name.
var diagnostic = regexp.MustCompile(`(?m)^(?:In file included from )?([^\s:][^:\n]*):(?:(\d+):(?:\d+:)?)? (?:fatal |internal compiler )?error: (.*)$`)

var linkTrouble = regexp.MustCompile(`(?m)(?:undefined reference to|Error:) .*$`)

// exhausted matches the messages of compilers, assemblers and linkers that reach a resource limit.
var exhausted = regexp.MustCompile(`(?mi)^.*(?:out of memory|memory exhausted|cannot allocate memory|bad_alloc|file size limit|file too large|CPU time limit|final link failed: file truncated).*$`)

// trouble matches the messages of compilers, assemblers and linkers that fail for a reason other than the kernel: a
// crash, a signal from outside, a full disk, an unreadable precompiled header.
var trouble = regexp.MustCompile(`(?i)internal compiler error|signal terminated program|segmentation fault|bus error|PCH file|no space left on device|` +
	`input/output error|resource temporarily unavailable|cannot (?:execute|fork)|(?:error|fatal): (?:closing|writing|write)`)

// inTrouble reports whether a compilation failed for a reason other than the kernel, so that a second attempt may
// succeed. inTrouble returns false for a compilation that reached a limit, because it would reach the limit again.
func inTrouble(log string, failure error) bool {
	if exhausted.MatchString(log) {
		return false
	}
	var exit *exec.ExitError
	if !errors.As(failure, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	const bySignal = 128 // a shell's exit code above 128 contains the number of a signal
	return trouble.MatchString(log) || ok && status.Signaled() || exit.ExitCode() > bySignal
}

func (c *hostCompiler) judge(r compile.Request, dir, log string, failure error) error {
	for path, name := range map[string]string{
		filepath.Join(dir, "include") + "/": "", filepath.Join(dir, "kernel.cpp"): r.Kernel.File, c.support.shim + "/": "emulator/",
		filepath.Join(dir, "cuda.h"): "emulator/cuda.h",
	} {
		log = strings.ReplaceAll(log, path, name)
	}
	e := &compile.Error{File: r.Kernel.File, Log: log, Crashed: inTrouble(log, failure)}
	if line := exhausted.FindString(log); line != "" {
		e.Crashed = true
		e.Message = fmt.Sprintf("the compiler may take %d GiB of memory, %d MiB for the program and %d s, which are not enough: %s", compilerMemory>>30, compilerFile>>20, compilerTime, line)
		return e
	}
	if at := diagnostic.FindStringSubmatchIndex(log); at != nil {
		m, words := diagnostic.FindStringSubmatch(log), firstError(log, at[1])
		e.Message = m[3]
		e.File, e.Line = blame(r.Kernel, m, words)
		// An error that names no line of the kernel lies in the generated code that calls the kernel.
		if entry := guiltyEntry(r.Kernel, words); entry != "" && (m[1] == entryFile || e.Line == 0) {
			e.File, e.Line = r.Kernel.File, 0
			e.Message = fmt.Sprintf("no kernel %s that is __global__ and takes only pointers, numbers and tensor maps: %s", entry, e.Message)
		}
		if strings.HasSuffix(e.Message, ": No such file or directory") || strings.HasSuffix(e.Message, " file not found") {
			e.Message += "; the emulator has the C++ library's headers, and of CUDA's " + strings.Join(cudaHeaders, ", ")
			if compile.GPUHeaders(r.Kernel) != nil {
				e.Message += "; on a GPU this kernel runs with the toolkit's"
			}
		}
		e.NameMacros(r.Kernel.Macros, words)
		return e
	}
	if m := linkTrouble.FindString(log); m != "" {
		e.Message = m
		return e
	}
	var exit *exec.ExitError
	if !errors.As(failure, &exit) {
		return fmt.Errorf("%s: %w", c.version, failure)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(log), "\n")
	e.Message = strings.TrimSpace(fmt.Sprintf("%s failed (%v) %s", c.version, failure, first))
	return e
}

// firstError returns the part of a compiler's log about its first error: the lines before the error, the error's own
// line, which ends at offset end, and the notes that follow.
func firstError(log string, end int) string {
	for end < len(log) {
		line, _, _ := strings.Cut(log[end+1:], "\n")
		if !strings.Contains(line, " note: ") {
			break
		}
		end += 1 + len(line)
	}
	return log[:end]
}

// blame returns the place of an error in the kernel's files. If the error itself is in the shim, blame returns the
// first place in the kernel's files that the log mentions.
func blame(k operator.Kernel, diagnosis []string, log string) (file string, line int) {
	names := sourceNames(k)
	for _, place := range append([][]string{diagnosis}, mentioned.FindAllStringSubmatch(log, -1)...) {
		if slices.Contains(names, place[1]) && !strings.HasPrefix(place[3], "note: in definition of macro") {
			line, _ := strconv.Atoi(place[2])
			return place[1], line
		}
	}
	return k.File, 0
}

// mentioned matches a source position that a log names at the beginning of a line, and the rest of the line.
var mentioned = regexp.MustCompile(`(?m)^\s*(?:In file included from |from )?([^\s:][^:\n]*):(\d+)[:,](?:\d+[:,])? ?(.*)$`)

func sourceNames(k operator.Kernel) []string {
	return append([]string{k.File}, slices.Sorted(maps.Keys(k.Includes))...)
}

var sanitizerSettings = []string{
	"ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1:color=never:print_legend=0",
	"UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:color=never",
}

var (
	asanError  = regexp.MustCompile(`ERROR: AddressSanitizer: ([\w-]+)`)
	asanAccess = regexp.MustCompile(`(?m)^(READ|WRITE) of size (\d+)`)
	asanGlobal = regexp.MustCompile(`is located (\d+) bytes? (?:to the )?(right|left|after|before|inside)(?: of)? (?:of )?global variable '(\w+)'`)
	ubsanError = regexp.MustCompile(`(?m)^(.*?):(\d+):(?:\d+:)? runtime error: (.*)$`)
	stackFrame = regexp.MustCompile(`(?m)^\s+#\d+ 0x[0-9a-f]+ (?:in .*? )?([^\s()]+):(\d+)(?::\d+)?$`)
	faultNote  = regexp.MustCompile(`(?m)^autotune-fault: (.*)$`)
	hexAddress = regexp.MustCompile(` 0x[0-9a-f]+`)
)

// sanitizerMessage condenses a sanitizer's report into one line: what the kernel did, at which of its lines, to which
// memory, and in which thread. sanitizerMessage returns "" if there is no report.
func sanitizerMessage(report string, names []string) string {
	what := ""
	if m := asanError.FindStringSubmatch(report); m != nil {
		what = asanWhat(m[1], report)
	} else if m := ubsanError.FindStringSubmatch(report); m != nil {
		what = hexAddress.ReplaceAllString(m[3], "")
	} else {
		return ""
	}
	message := what
	if place := guiltyLine(report, names); place != "" {
		message = place + ": " + what
	}
	if m := faultNote.FindStringSubmatch(report); m != nil {
		message += ", " + strings.TrimPrefix(m[1], ", ")
	}
	if m := asanGlobal.FindStringSubmatch(report); m != nil {
		side := map[string]string{"right": "past the end of", "after": "past the end of", "left": "before the start of", "before": "before the start of", "inside": "inside"}[m[2]]
		message += fmt.Sprintf(" (%s %s shared array %s)", bytesText(m[1]), side, m[3])
	}
	return message
}

func bytesText(number string) string {
	if number == "1" {
		return "1 byte"
	}
	return number + " bytes"
}

func asanWhat(kind, report string) string {
	access, size := "access", ""
	if m := asanAccess.FindStringSubmatch(report); m != nil {
		access = strings.ToLower(m[1])
		size = " of " + bytesText(m[2])
	}
	switch kind {
	case "heap-buffer-overflow", "global-buffer-overflow", "stack-buffer-overflow", "stack-buffer-underflow", "dynamic-stack-buffer-overflow",
		"unknown-crash", "use-after-poison", "container-overflow":
		return "out-of-bounds " + access + size
	case "SEGV", "BUS":
		return "access to an illegal address"
	}
	return strings.ReplaceAll(kind, "-", " ") + " by a " + access + size
}

func guiltyLine(report string, names []string) string {
	places := append(ubsanError.FindAllStringSubmatch(report, 1), stackFrame.FindAllStringSubmatch(report, -1)...)
	for _, place := range places {
		if name := kernelFile(place[1], names); name != "" {
			return name + ":" + place[2]
		}
	}
	return ""
}

// kernelFile returns the name that the kernel uses for a file, or "" if the file is not one of the kernel's.
func kernelFile(path string, names []string) string {
	for _, name := range names {
		if path == name || strings.HasSuffix(filepath.ToSlash(path), "/"+strings.TrimPrefix(filepath.ToSlash(name), "/")) {
			return name
		}
	}
	return ""
}
