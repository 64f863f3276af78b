package cubin

import (
	"bytes"
	"testing"
)

// Attributes reads or refuses any file, and never changes its bytes.
func FuzzAttributes(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"), "k")
	f.Fuzz(func(t *testing.T, code []byte, kernel string) {
		before := bytes.Clone(code)
		if file, err := Open(code); err == nil {
			for _, value := range Attributes(file, kernel) {
				if len(value) > len(code) {
					t.Errorf("a value of %d bytes in a file of %d", len(value), len(code))
				}
			}
		}
		if !bytes.Equal(before, code) {
			t.Error("the file was changed")
		}
	})
}
