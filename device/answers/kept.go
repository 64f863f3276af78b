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

	"autotune/device/compile"
	"autotune/device/elements"
	"autotune/operator"
)

// keptVersion is raised when kept answers get another meaning.
const keptVersion = 1

// mostKept is the size of the largest tensor that is kept, so that answers do not fill the cache.
const mostKept = 16 << 20

// kept are earlier answers, beside the compiled kernels. If one cannot be read or written, Python is asked again.
type kept struct {
	files *cache.Cache // nil: nothing is kept
	key   string       // of the question
}

func (q Question) openKept() (k kept, err error) {
	if k.files = compile.Kept(q.CacheDir); k.files != nil {
		k.key, err = key(q)
	}
	return k, err
}

// key is all that an answer depends on: the operator's files, the problem, and how each
// tensor is filled, the code that draws elements included.
func key(q Question) (string, error) {
	digest, err := q.Problem.ReferenceDigest()
	if err != nil {
		return "", err
	}
	fills, err := elements.FillsOf(q.Problem.Arguments, q.Inputs.Distribution, q.Inputs.Seed)
	if err != nil {
		return "", err
	}
	arguments, err := json.Marshal(q.Problem.Arguments)
	if err != nil {
		return "", fmt.Errorf("describe the arguments: %w", err)
	}
	return fmt.Sprintf("answers %d %q %q %x %q %s %v", keptVersion, digest, q.Drawn, sha256.Sum256([]byte(elements.Source)), q.Problem, arguments, fills), nil
}

func (k kept) id(tensor string) cache.ActionID {
	return sha256.Sum256(fmt.Appendf(nil, "%s of %s", tensor, k.key))
}

// take puts the answers into the folder, if all are kept and whole.
func (k kept) take(q Question, dir string) bool {
	for _, a := range q.Problem.Arguments {
		name := Name(a)
		if name == "" {
			continue
		}
		if k.files == nil {
			return false
		}
		contents, _, err := k.files.GetBytes(k.id(a.Name))
		if err != nil || int64(len(contents)) != a.Bytes() || remove(filepath.Join(dir, name)) != nil {
			return false
		}
		if os.WriteFile(filepath.Join(dir, name), contents, 0o600) != nil {
			return false
		}
	}
	return k.files != nil
}

func (k kept) put(q Question, dir string) {
	for _, a := range q.Problem.Arguments {
		name := Name(a)
		if k.files == nil || name == "" || a.Bytes() > mostKept {
			continue
		}
		if f, err := os.Open(filepath.Join(dir, name)); err == nil {
			_, _, _ = k.files.PutNoVerify(k.id(a.Name), f)
			f.Close()
		}
	}
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

// convertFile makes a new file of another's last bytes.
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
