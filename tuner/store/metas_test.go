package store

import (
	"os"
	"strings"
	"testing"
)

// Either of the two pages that bbolt writes in turn may be damaged: the file
// opens with the other, and the check says what may be lost.
func TestCheckTellsOfADamagedMetaPage(t *testing.T) {
	for page := range 2 {
		path := t.TempDir() + "/cache.db"
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if issues, err := CheckFile(t.Context(), path); err != nil || len(issues) > 0 {
			t.Fatalf("a new cache has %v, %v", issues, err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[page*os.Getpagesize()+metaStart+48] ^= 1 // in the transaction's number
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		issues, err := CheckFile(t.Context(), path)
		if err != nil || len(issues) != 1 || !strings.Contains(issues[0].String(), "stored last may be lost") {
			t.Errorf("page %d: %v, %v", page, issues, err)
		}
	}
}
