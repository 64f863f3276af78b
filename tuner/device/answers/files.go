package answers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
)

// chunk is how much is converted at a time: elements of all types fill it.
const chunk = 1 << 20

// Conversions between a type's elements and those that NumPy has in their place.
var (
	narrow = conversion{func(operator.Type) int64 { return 4 }, elements.Narrow}
	widen  = conversion{operator.Type.Bytes, elements.Widen}
)

type conversion struct {
	bytes func(operator.Type) int64 // of an element that is converted
	do    func(operator.Type, []byte) []byte
}

// convert copies what is left of a stream. Elements that NumPy has are the same there.
func convert(to io.Writer, from io.Reader, t operator.Type, c conversion) error {
	if t.InNumPy() {
		_, err := io.Copy(to, from)
		return err
	}
	buffered, part := bufio.NewWriterSize(to, chunk), make([]byte, chunk)
	for {
		n, err := io.ReadFull(from, part)
		if n%int(c.bytes(t)) != 0 {
			return fmt.Errorf("it ends within an element")
		}
		if _, failed := buffered.Write(c.do(t, part[:n])); failed != nil {
			return failed
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return buffered.Flush()
		}
		if err != nil {
			return err
		}
	}
}

// convertFile makes a new file of another's last bytes.
func convertFile(path, from string, bytes int64, t operator.Type, c conversion) error {
	start, err := Size(from, bytes)
	if err != nil {
		return err
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(start, io.SeekStart); err != nil {
		return err
	}
	to, err := create(path)
	if err != nil {
		return err
	}
	return errors.Join(convert(to, f, t, c), to.Close())
}

// remove makes room for a new file.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func create(path string) (*os.File, error) {
	if err := remove(path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}
