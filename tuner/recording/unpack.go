package recording

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What a recording may unfold to at most, far above what a search writes: a
// small file must not fill the memory.
const (
	maxRecording = 1 << 30
	maxMetadata  = 256 << 10
)

// unpack reads a file to its end. What comes before an early end is returned
// together with the error.
func unpack(r io.Reader) ([]byte, error) {
	plain, err := decompress(r, maxRecording)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(plain)
	if err != nil {
		return data, damaged(err)
	}
	return data, nil
}

// decompress sees by its first bytes whether a file is compressed, and gives no
// more than limit bytes of what is in it.
func decompress(r io.Reader, limit int64) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	if head, _ := buffered.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return &bounded{r: buffered, left: limit}, nil
	}
	zip, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, damaged(err)
	}
	return &bounded{r: zip, left: limit}, nil
}

var errTooLarge = errors.New("it unfolds to more than any recording does")

// bounded fails, rather than ends, where its bytes are used up.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}

func damaged(err error) error {
	if errors.Is(err, errTooLarge) {
		return err
	}
	return fmt.Errorf("the file is damaged or cut short: %w", err)
}

// nonNumbers are what Python writes for floats that JSON does not know.
var nonNumbers = [][]byte{[]byte("-Infinity"), []byte("Infinity"), []byte("NaN")}

// nullNonNumbers replaces Python's NaN and Infinity by null, but not in strings.
func nullNonNumbers(data []byte) []byte {
	if !bytes.Contains(data, nonNumbers[1]) && !bytes.Contains(data, nonNumbers[2]) {
		return data
	}
	out := make([]byte, 0, len(data))
	inString := false
next:
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			inString = !inString
		case c == '\\' && inString && i+1 < len(data):
			out = append(out, c)
			i++
		case !inString:
			for _, word := range nonNumbers {
				if bytes.HasPrefix(data[i:], word) {
					out = append(out, "null"...)
					i += len(word) - 1
					continue next
				}
			}
		}
		out = append(out, data[i])
	}
	return out
}

// mend closes a document that ends in the middle after its last whole result, or
// its last whole row of a cache; false if it does not get that far, or is whole.
func mend(data []byte) ([]byte, bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		if name != "results" && name != "cache" {
			if d.Decode(new(json.RawMessage)) != nil {
				return nil, false
			}
			continue
		}
		closing, end, err := elements(d)
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, false
		}
		return append(bytes.Clone(data[:end]), closing...), true
	}
	return nil, false
}

// elements reads over a list or an object, in an object. It returns where the
// last whole element ends, what closes the document there, and why it stopped.
func elements(d *json.Decoder) (closing string, end int64, err error) {
	open, err := d.Token()
	closing = map[any]string{json.Delim('['): "]}", json.Delim('{'): "}}"}[open]
	for end = d.InputOffset(); err == nil && d.More(); end = d.InputOffset() {
		if open == json.Delim('{') {
			if _, err := d.Token(); err != nil {
				return closing, end, err
			}
		}
		if err := d.Decode(new(json.RawMessage)); err != nil {
			return closing, end, err
		}
	}
	if err == nil {
		_, err = d.Token()
	}
	return closing, end, err
}
