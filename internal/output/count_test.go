package output

import "testing"

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 bytes": Count(0, "byte"), "1 byte": Count(1, "byte"), "2 bytes": Count(2, "byte"), "2 launches": Count(2, "launch"),
		"1 entry": Count(1, "entry"), "2 entries": Count(2, "entry"), "2 keys": Count(2, "key"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
