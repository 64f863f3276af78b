package worker

import (
	"os"
	"path"
	"slices"
	"strings"
)

// Environment is the part of this process's environment that a child gets whose output reaches others than this user:
// the variables of these names, which may be patterns as CUDA_*, and messages in English. Others may hold passwords.
func Environment(names ...string) []string {
	kept := []string{"LC_ALL=C"}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if slices.ContainsFunc(names, func(pattern string) bool { fits, _ := path.Match(pattern, name); return fits }) {
			kept = append(kept, variable)
		}
	}
	return kept
}
