// Package must ends a test at an unexpected error.
package must

// OK ends a test, or one run of a property, if err is not nil.
func OK(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}
