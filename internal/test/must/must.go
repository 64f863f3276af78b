// Package must ends tests at errors that they do not expect.
package must

// OK ends a test, or one run of a property, at an error.
func OK(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}
