package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"autotune/internal/input"
)

// What a recording may have at most: above what a search writes, and above the
// exhaustive ones that others publish.
var recordingBound = input.Bound{Kind: "a recording", Bytes: 32 << 20, Values: 3_000_000, Depth: 32, Items: 100_000}

// maxMetadata is how far into a file its metadata may reach.
const maxMetadata = 256 << 10

// unpack reads a file to its end. What comes before an early end is returned
// together with the error.
func unpack(r io.Reader) ([]byte, error) {
	data, err := recordingBound.Unpack(r)
	if err == nil {
		err = recordingBound.JSON(data)
	}
	return data, damaged(err)
}

// damaged says of a file that its end or its middle is not as it was written.
func damaged(err error) error {
	var tooMuch *input.TooMuchError
	if err == nil || errors.As(err, &tooMuch) {
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
