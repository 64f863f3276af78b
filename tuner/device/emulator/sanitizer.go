package emulator

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// sanitizerSettings are the environment of a sanitized program.
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

// sanitizerMessage turns a sanitizer's report into one line: what was done, at
// which line of the kernel, to what, by which thread. "" if there is no report.
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

// bytesText counts bytes whose number the report has as text.
func bytesText(number string) string {
	if number == "1" {
		return "1 byte"
	}
	return number + " bytes"
}

// asanWhat names an error of AddressSanitizer in plain words.
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

// guiltyLine is the innermost place of the report that lies in the kernel's own
// files rather than in the shim or a library.
func guiltyLine(report string, names []string) string {
	places := append(ubsanError.FindAllStringSubmatch(report, 1), stackFrame.FindAllStringSubmatch(report, -1)...)
	for _, place := range places {
		for _, name := range names {
			if place[1] == name || strings.HasSuffix(filepath.ToSlash(place[1]), "/"+strings.TrimPrefix(filepath.ToSlash(name), "/")) {
				return name + ":" + place[2]
			}
		}
	}
	return ""
}
