package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
)

// Is tells whether a regular file begins as recordings do: packed, or with one of
// their keys.
func Is(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	text := bufio.NewReader(io.LimitReader(f, 1<<16))
	if head, err := text.Peek(2); err == nil && bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return true
	}
	decoder := json.NewDecoder(text)
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return false
	}
	key, err := decoder.Token()
	return err == nil && (key == "schema_version" || key == "metadata" || key == "results")
}
