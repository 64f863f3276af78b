// Package input reads the files that a user names.
//
// A file that a user names may be hostile or a mistake: an endless device, a pipe that nobody writes to, a small
// archive that unpacks to a gigabyte, a list nested a hundred thousand deep. A Bound limits the size and depth of files
// of one kind, so that a larger file is refused before it costs much time or memory.
package input

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"
)

type Bound struct {
	Kind   string // "a space file", for messages
	Bytes  int    // after unpacking
	Values int    // in its lists and objects; each object counts as objectWeight
	Depth  int    // how deep lists and objects may be nested
	Items  int    // in one list or object; 0: as many as Values allow
}

// longestText limits one string of a document, in bytes, because parsers copy a string several times.
const longestText = 1 << 20

// objectWeight is how much memory a decoded empty object takes, as a multiple of a decoded number's.
const objectWeight = 20

// TooMuchError says that a file exceeds the Bound of its kind.
type TooMuchError struct {
	Kind string
	Most string // "4 MiB", "500000 values"
}

func (e *TooMuchError) Error() string {
	return fmt.Sprintf("it is too large: %s may have %s at most", e.Kind, e.Most)
}

func (b Bound) tooMuch(format string, args ...any) error {
	return &TooMuchError{b.Kind, fmt.Sprintf(format, args...)}
}

// File opens the file at path, passes its content to the function read, and returns the result of read. The errors of
// File begin with the path. File returns when ctx ends, even if path is a pipe that nobody writes to.
func File[T any](ctx context.Context, path string, read func(io.Reader) (T, error)) (T, error) {
	type answer struct {
		made T
		err  error
	}
	done := make(chan answer, 1) // buffered, so that a reader that was given up can still end
	go func() {
		made, err := open(path, read)
		done <- answer{made, err}
	}()
	select {
	case a := <-done:
		return a.made, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func open[T any](path string, read func(io.Reader) (T, error)) (made T, err error) {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		if info, statErr := f.Stat(); statErr == nil && info.IsDir() {
			err = errors.New("it is a folder; name a file")
		}
	}
	if err != nil {
		return made, fmt.Errorf("cannot read %s: %w", path, Reason(err))
	}
	if made, err = read(f); err != nil {
		return made, fmt.Errorf("%s: %w", path, Reason(err))
	}
	return made, nil
}

// Reason returns the operating system's error without the operation and the paths that package os adds.
func Reason(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// Read reads r to its end. Read removes the byte order mark that some editors write, and refuses more than Bytes bytes.
func (b Bound) Read(r io.Reader) ([]byte, error) {
	data, err := b.bytes(r)
	if err != nil {
		return data, err
	}
	return text(data)
}

// Unpack is like Read, but it decompresses a file whose first bytes say that it is compressed by gzip.
func (b Bound) Unpack(r io.Reader) ([]byte, error) {
	plain, err := Unpacked(r)
	if err != nil {
		return nil, err
	}
	return b.Read(plain)
}

// Unpacked returns the content of a stream that may be compressed by gzip.
func Unpacked(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	if head, _ := buffered.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return buffered, nil
	}
	return gzip.NewReader(buffered)
}

func (b Bound) bytes(r io.Reader) ([]byte, error) {
	var data bytes.Buffer
	if _, err := data.ReadFrom(io.LimitReader(r, int64(b.Bytes)+1)); err != nil {
		return data.Bytes(), err
	}
	if data.Len() > b.Bytes {
		return nil, b.tooMuch("%s", size(b.Bytes))
	}
	return data.Bytes(), nil
}

func size(bytes int) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

var (
	byteOrderMark = []byte("\xEF\xBB\xBF")
	errNoText     = errors.New("it is not text in UTF-8; save it as such")
)

// text removes the byte order mark and refuses data that is clearly not text. The function text does not look for
// invalid UTF-8 behind the first two bytes, because the parsers report the position of such bytes.
func text(data []byte) ([]byte, error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	head := data[:min(len(data), 2)]
	if !utf8.Valid(head) && len(head) == 2 && head[0] >= 0xFE || bytes.IndexByte(data, 0) >= 0 {
		return nil, errNoText
	}
	return data, nil
}

// JSON scans a document before any parser runs, and refuses too many values, too many levels and too long strings.
func (b Bound) JSON(data []byte) error {
	values := 0
	var items []int // of the lists and objects that are open at this place
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			end := endOfText(data, i)
			if end-i > longestText {
				return b.tooMuch("%s in one text", size(longestText))
			}
			i = end
			continue
		case '[':
			values++
			items = append(items, 1)
		case '{':
			values += objectWeight
			items = append(items, 1)
		case ']', '}':
			items = items[:max(0, len(items)-1)]
		case ',':
			values++
			if open := len(items) - 1; open >= 0 {
				items[open]++
				if b.Items > 0 && items[open] > b.Items {
					return b.tooMuch("%d items in one list or object", b.Items)
				}
			}
		}
		if len(items) > b.Depth {
			return b.tooMuch("%d levels of lists and objects", b.Depth)
		}
		if values > b.Values {
			return b.tooMuch("%d values", b.Values)
		}
	}
	return nil
}

func endOfText(data []byte, start int) int {
	for i := start + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(data)
}
