package fleet

import "testing"

// What another worker says of a binary is read or refused.
func FuzzBinary(f *testing.F) {
	f.Add([]byte(`{"Symbols": {"a": "b"}, "Code": "AAAA", "Log": "a warning"}`))
	f.Add([]byte(`{"Symbols": [`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, data []byte) {
		if b, err := decodeBinary(data); (b == nil) == (err == nil) {
			t.Errorf("got %v and %v", b, err)
		}
	})
}
