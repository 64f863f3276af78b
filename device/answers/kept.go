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

// keptVersion must be raised when the format or the meaning of cached answers changes.
const keptVersion = 2

// mostKept is the size in bytes of the largest answer that is cached. Larger answers are not cached, because they would
// displace the compiled kernels from the cache that both share.
const mostKept = 16 << 20

// id hashes everything that an answer depends on: the operator's files, the problem, how each tensor is filled, and the
// source code that generates random elements.
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

// take writes a cached answer into dir, or returns false if the cache has no complete answer and Python must be run.
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
	_ = files.PutBytes(id, all) // take rejects an entry that lacks a tensor
}

// chunk is the number of bytes converted at a time, a multiple of every element's size.
const chunk = 1 << 20

// narrow and widen convert between a type that NumPy lacks and the wider NumPy type that stands for it.
var (
	narrow = conversion{func(operator.Type) int64 { return 4 }, elements.Narrow}
	widen  = conversion{operator.Type.Bytes, elements.Widen}
)

type conversion struct {
	bytes func(operator.Type) int64 // size of an element before the conversion
	do    func(operator.Type, []byte) []byte
}

// convert converts the rest of a stream element by element, or copies the stream if NumPy has the type itself.
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
