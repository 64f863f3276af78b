package pack

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"autotune/internal/input"
	"autotune/internal/jsonobject"
	"autotune/internal/output"
)

// The following constants bound the packs that Open accepts.
const (
	mostFiles     = 20_000
	mostFileBytes = 256 << 20
	mostBytes     = 2 << 30
	mostWorkspace = 1 << 50
	mostGrid      = 1<<31 - 1
	mostBlock     = 1024
	mostCluster   = 16
	mostShared    = 1 << 20
	mostElement   = 16 // bytes of one element
)

// bound limits the size and the depth of a manifest.
var bound = input.Bound{Kind: "a pack's manifest", Bytes: 64 << 20, Values: 8 << 20, Depth: 24}

// Pack is a verified pack in memory. A Pack is safe for concurrent use.
type Pack struct {
	Manifest
	Path  string
	files map[string][]byte // their contents, by path
}

// Open reads a pack's folder and verifies all of it: that each file has the size and digest in the manifest, and that
// the manifest is consistent. Open runs no code of the pack.
func Open(path string) (p *Pack, err error) {
	files, err := filesOf(path)
	if err == nil {
		defer files.Close()
		p, err = read(files)
	}
	if err != nil {
		return nil, fmt.Errorf("the pack %s: %w", path, err)
	}
	p.Path = path
	return p, nil
}

// Is reports whether a path is a folder with a pack's manifest.
func Is(path string) bool {
	files, err := filesOf(path)
	if err != nil {
		return false
	}
	defer files.Close()
	text, err := readFile(files, ManifestFile, int64(bound.Bytes))
	head := text[:min(len(text), 256)]
	return err == nil && regexp.MustCompile(`^\s*{\s*"schema":\s*"autotune/pack/`).Match(head)
}

// isPath reports whether a name is a valid path below a pack's folder on every operating system.
func isPath(name string) bool {
	return fs.ValidPath(name) && name != "." && filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsAny(name, "\\:") && output.Line(name) == name
}

// folder reads a pack's files. Links that lead out of the pack's folder are not followed.
type folder struct{ *os.Root }

func filesOf(path string) (folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return folder{}, fmt.Errorf("it is no folder that can be read: %w", input.Reason(err))
	}
	return folder{root}, nil
}

// Open opens a file. If the file is a pipe, Open does not wait for a writer.
func (f folder) Open(name string) (fs.File, error) {
	return f.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// errIrregular means that a name which should be a file is a link, a pipe, a device or a folder.
var errIrregular = errors.New("it is no regular file; a pack has files and folders")

func read(files fs.FS) (*Pack, error) {
	text, err := readFile(files, ManifestFile, int64(bound.Bytes))
	if err != nil {
		return nil, err
	}
	if err := bound.JSON(text); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	p := &Pack{files: map[string][]byte{}}
	var only struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &only); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", ManifestFile, err)
	}
	if only.Schema != Schema {
		return nil, fmt.Errorf("its schema is %.40q and this program reads %s; use the autotune that wrote it, or pack it again", only.Schema, Schema)
	}
	if err := cmp.Or(jsonobject.Exact(text, &p.Manifest), json.Unmarshal(text, &p.Manifest)); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", ManifestFile, err)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	if err := p.verify(files); err != nil {
		return nil, err
	}
	return p, nil
}

// Kernel returns the verified contents of a file with kernels.
func (p *Pack) Kernel(file string) []byte { return bytes.TrimSuffix(p.files[file], []byte{0}) }

// Unlisted returns an error if the folder has files that the manifest does not list. Open does not read unlisted
// files, but Python or C could load them: Python runs a compiled module in __pycache__ in place of the module's
// source.
func (p *Pack) Unlisted() error {
	files, err := filesOf(p.Path)
	if err != nil {
		return fmt.Errorf("the pack %s: %w", p.Path, err)
	}
	defer files.Close()
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		_, listed := p.Files[name]
		switch {
		case err != nil:
			return fmt.Errorf("the pack %s: %s: %w", p.Path, output.Line(name), input.Reason(err))
		case d.IsDir() && d.Name() == "__pycache__":
			return fmt.Errorf("the pack %s: Python has left %s there, and would run what is in it in place of the pack's files; remove that folder", p.Path, name)
		case d.IsDir() || listed || name == ManifestFile:
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("the pack %s: %s: %w", p.Path, output.Line(name), errIrregular)
		}
		return fmt.Errorf("the pack %s: %s is not among the files that its manifest lists, and a program could load it; remove it", p.Path, output.Line(name))
	})
}

// readFile reads a regular file of at most the given number of bytes.
func readFile(files fs.FS, name string, most int64) ([]byte, error) {
	f, err := files.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is missing", name)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, input.Reason(err))
	}
	defer f.Close()
	info, err := f.Stat() // the opened file, even if its name was replaced
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, input.Reason(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", name, errIrregular)
	case info.Size() > most:
		return nil, fmt.Errorf("%s has %d bytes; it may have %d", name, info.Size(), most)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it has more than the %d bytes that it may have", most)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// verify reads every file and compares its size and digest with the manifest.
func (p *Pack) verify(files fs.FS) error {
	for name, want := range sorted(p.Files) {
		data, err := readFile(files, name, want.Bytes)
		if err != nil {
			return err
		}
		if digest := sha256.Sum256(data); int64(len(data)) != want.Bytes || hex.EncodeToString(digest[:]) != want.SHA256 {
			return fmt.Errorf("%s is not the file that was packed: its %d bytes have another digest", name, len(data))
		}
		p.files[name] = append(data, 0) // a zero byte ends PTX
	}
	return nil
}
