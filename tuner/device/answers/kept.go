package answers

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/cache"

	"autotune/tuner/device/elements"
)

// keptVersion is raised when what is kept changes its meaning.
const keptVersion = 1

// mostKept is how much a tensor that is kept may take: the cache is no place for more.
const mostKept = 256 << 20

// kept are the answers of before, beside the compiled kernels. They are a convenience:
// what cannot be read or written only costs asking again.
type kept struct {
	files *cache.Cache // nil: nothing is kept
	key   string       // of the question
}

func (m Maker) openKept(q Question) (kept, error) {
	k := kept{}
	if m.CacheDir == "" {
		return k, nil
	}
	var err error
	if k.key, err = key(q); err != nil {
		return k, err
	}
	if err := os.MkdirAll(m.CacheDir, 0o755); err == nil {
		k.files, _ = cache.Open(m.CacheDir)
	}
	return k, nil
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
	if k.files == nil {
		return false
	}
	for _, a := range q.Problem.Arguments {
		name := Name(a)
		if name == "" {
			continue
		}
		file, entry, err := k.files.GetFile(k.id(a.Name))
		if err != nil || entry.Size != a.Bytes() || !whole(file, entry.OutputID) || take(file, filepath.Join(dir, name)) != nil {
			return false
		}
	}
	return true
}

// whole tells whether a file's contents are those that were kept.
func whole(file string, id cache.OutputID) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return err == nil && cache.OutputID(h.Sum(nil)) == id
}

// take makes a file of the folder, which stays if the cache drops its own.
func take(from, path string) error {
	return replace(path, func() error {
		if os.Link(from, path) == nil {
			return nil
		}
		f, err := os.Open(from)
		if err != nil {
			return err
		}
		defer f.Close()
		to, err := create(path)
		if err != nil {
			return err
		}
		if _, err := io.Copy(to, f); err != nil {
			to.Close()
			return err
		}
		return to.Close()
	})
}

// put keeps the answers in the folder.
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
