// Package must ends a test at an unexpected error.
package must

import "os"

// OK ends a test, or one run of a property, if err is not nil.
func OK(t test, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Read returns what a file contains.
func Read(t test, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	OK(t, err)
	return text
}

type test interface {
	Helper()
	Fatal(...any)
}
