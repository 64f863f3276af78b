package packer

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"autotune/internal/quote"
)

// names matches words that can name both a Python package and a table in C.
var names = regexp.MustCompile(`^[a-z][a-z0-9_]*[a-z0-9]$`)

func checkName(name string) error {
	if !names.MatchString(name) || !quote.IsPythonName(name) {
		return fmt.Errorf("a pack cannot have the name %.40q; use two or more lower-case letters, digits and underscores, begin with a letter, "+
			"do not end with an underscore, and take no word of Python's", name)
	}
	return nil
}

// NameOf returns a pack's default name, derived from the path that the pack is written to.
func NameOf(path string) string {
	base := strings.ToLower(filepath.Base(filepath.Clean(path)))
	name := strings.Trim(regexp.MustCompile(`\W+`).ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(base)), "_"), "_")
	if checkName(name) != nil {
		name = strings.TrimSuffix("pack_"+name, "_")
	}
	return name
}
