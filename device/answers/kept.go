package answers

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/cache"

	"autotune/device/elements"
	"autotune/operator"
)

// keptVersion is raised when kept answers get another meaning.
const keptVersion = 2

// mostKept is how large an answer may be to be kept beside the compiled kernels, so that they do not fill the cache.
const mostKept = 16 << 20

// id is of all that an answer depends on: the operator's files, the problem, and how each tensor is filled, the code
// that draws elements included.
func (q Question) id() (id cache.ActionID, err error) {
	digest, err := q.Problem.ReferenceDigest()
	if err != nil {
		return id, err
	}
	fills, err := elements.FillsOf(q.Problem.Arguments, q.Inputs.Distribution, q.Inputs.Seed)
	if err != nil {
		return id, err
	}
	arguments, err := json.Marshal(q.Problem.Arguments)
	if err != nil {
		return id, fmt.Errorf("describe the arguments: %w", err)
	}
	return sha256.Sum256(fmt.Appendf(nil, "answers %d %q %q %q %q %s %v",
		keptVersion, digest, q.Drawn, elements.Source, q.Problem, arguments, fills)), nil
}

// take puts an earlier answer into the folder, if it is kept and whole. Else Python is asked again.
func (q Question) take(files *cache.Cache, id cache.ActionID, dir string) bool {
	contents, _, err := files.GetBytes(id)
	for _, a := range q.Problem.Arguments {
		name := Name(a)
		if name == "" {
			continue
		}
		if err != nil || int64(len(contents)) < a.Bytes() || remove(filepath.Join(dir, name)) != nil {
			return false
		}
		err = os.WriteFile(filepath.Join(dir, name), contents[:a.Bytes()], 0o600)
		contents = contents[a.Bytes():]
	}
	return err == nil && len(contents) == 0
}

func (q Question) keep(files *cache.Cache, id cache.ActionID, dir string) {
	var all []byte
	for _, a := range q.Problem.Arguments {
		if name := Name(a); name != "" && int64(len(all))+a.Bytes() <= mostKept {
			part, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return
			}
			all = append(all, part...)
		}
	}
	_ = files.PutBytes(id, all) // of a part alone it is not taken
}

// chunk is how much is converted at a time: elements of all types fill it.
const chunk = 1 << 20

// Conversions between a type's elements and those of the NumPy type that stands for it.
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

func convertFile(path, from string, size int64, t operator.Type, c conversion) error {
	contents, done, err := Map(from, size)
	if err != nil {
		return err
	}
	defer done()
	to, err := create(path)
	if err != nil {
		return err
	}
	return errors.Join(convert(to, bytes.NewReader(contents), t, c), to.Close())
}

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
