package output

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"unicode"
)

// ErrForeign means that a file is there that autotune did not write.
var ErrForeign = errors.New("autotune did not write the file that is there")

// headBytes is how much of a file tells who wrote it.
const headBytes = 4 << 10

// beginnings are how the documents of commands begin, without white space, and a
// picture. marks stand within the heads of the other files.
var (
	beginnings = []string{`{"schema":"autotune/`, `[{"schema":"autotune/`, `{"repeats":`, `{"target":`, `{"problem":`, `[{"problem":`, `{"operator":"`, `[{"operator":"`,
		`[{"device":`, `[{"worker":`, `{"version":`, `[]`, "template,", "|template|", "\x89PNG"}
	marks = []string{"Written by autotune", `"autotune/recording/`}
)

// Foreign finds out whether a file is there that autotune did not write. A file that
// is empty, or is no regular file, may be written to.
func Foreign(path string) error {
	target, regular, err := resolve(path)
	if err != nil || !regular {
		return nil // To tells
	}
	head, err := headOf(target)
	if err != nil || len(head) == 0 {
		return nil
	}
	plain := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, string(head))
	for _, beginning := range beginnings {
		if strings.HasPrefix(plain, beginning) || bytes.HasPrefix(head, []byte(beginning)) {
			return nil
		}
	}
	for _, mark := range marks {
		if bytes.Contains(head, []byte(mark)) {
			return nil
		}
	}
	return ErrForeign
}

// headOf reads how a file begins, compressed or not.
func headOf(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, headBytes))
	if err != nil || !bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		return head, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(head))
	if err != nil {
		return head, nil
	}
	plain, _ := io.ReadAll(io.LimitReader(unpacked, headBytes)) // the compressed head ends early
	return plain, nil
}
