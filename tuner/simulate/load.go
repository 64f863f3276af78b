package simulate

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxRecording is what a file may unfold to at most, far above what searches
// write: a small file must not fill the memory.
const maxRecording = 1 << 30

// Load reads a recording, compressed or not: a Kernel Tuner cache, also one of
// an interrupted search, or T4 results, which our own recordings are.
func Load(path string) (*Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the recording: %w", err)
	}
	defer f.Close()
	r, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.File, r.Name = path, nameOf(path)
	return r, nil
}

// nameOf is the file's name without its folder and endings.
func nameOf(path string) string {
	name := filepath.Base(path)
	name = strings.TrimSuffix(name, ".gz")
	return strings.TrimSuffix(name, ".json")
}

// Read reads a recording.
func Read(r io.Reader) (*Recording, error) {
	data, err := plain(r)
	if err != nil {
		return nil, err
	}
	data = nullNonNumbers(data)
	switch form, err := formOf(data); {
	case err != nil:
		return nil, err
	case form == "cache":
		return readCache(data)
	default:
		return readT4(data)
	}
}

// plain decompresses what is compressed.
func plain(r io.Reader) ([]byte, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	r = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("damaged gzip file: %w", err)
		}
		r = unzipped
	}
	data, err := io.ReadAll(io.LimitReader(r, maxRecording+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		// A compressed file cut short is an interrupted search like any other.
	case err != nil:
		return nil, fmt.Errorf("cannot read the recording: %w", err)
	case len(data) > maxRecording:
		return nil, fmt.Errorf("it is larger than %d MiB uncompressed", maxRecording>>20)
	}
	return data, nil
}

// nullNonNumbers replaces the NaN and Infinity that Python writes and JSON
// does not know by null.
func nullNonNumbers(data []byte) []byte {
	words := [][]byte{[]byte("-Infinity"), []byte("Infinity"), []byte("NaN")}
	if !bytes.Contains(data, words[1]) && !bytes.Contains(data, words[2]) {
		return data
	}
	out := make([]byte, 0, len(data))
	inString := false
	for i := 0; i < len(data); i++ {
		c := data[i]
		if inString && c == '\\' && i+1 < len(data) {
			out = append(out, c, data[i+1])
			i++
			continue
		}
		if c == '"' {
			inString = !inString
		}
		word := []byte(nil)
		for _, w := range words {
			if !inString && word == nil && bytes.HasPrefix(data[i:], w) {
				word = w
			}
		}
		if word == nil {
			out = append(out, c)
			continue
		}
		out = append(out, "null"...)
		i += len(word) - 1
	}
	return out
}
