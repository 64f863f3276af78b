package libcuda

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"autotune/internal/test/must"
)

var update = flag.Bool("update", false, "write stubs/functions.def anew from cuda.h")

var (
	prototype = regexp.MustCompile(`(?m)^CUresult (cu\w+)\((.*)\);$`)
	lastName  = regexp.MustCompile(`(\w+)$`)
)

// functions turns the declarations of cuda.h into the list that the stubs are built from. functions leaves out cuInit,
// whose stub is written by hand.
func functions(t *testing.T, header string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("/* Generated from cuda.h by `go test ./internal/libcuda -update`. */\n")
	for _, m := range prototype.FindAllStringSubmatch(header, -1) {
		name, parameters := m[1], m[2]
		if name == "cuInit" {
			continue
		}
		var arguments []string
		for _, p := range strings.Split(parameters, ", ") {
			if p == "void" {
				continue
			}
			arguments = append(arguments, lastName.FindString(p))
		}
		fmt.Fprintf(&b, "FUNCTION(%s, (%s), (%s))\n", name, parameters, strings.Join(arguments, ", "))
	}
	return b.String()
}

func TestStubsFollowTheHeader(t *testing.T) {
	header := must.Read(t, "cuda.h")
	if declared, found := strings.Count(string(header), "\nCUresult "), len(prototype.FindAllString(string(header), -1)); declared != found {
		t.Fatalf("cuda.h declares %d functions, of which %d stand on one line as CUresult name(parameters);", declared, found)
	}
	want := functions(t, string(header))
	const path = "stubs/functions.def"
	if *update {
		must.OK(t, os.WriteFile(path, []byte(want), 0o644))
	}
	have := must.Read(t, path)
	if string(have) != want {
		t.Errorf("%s does not follow cuda.h: run go test ./internal/libcuda -update", path)
	}
}
