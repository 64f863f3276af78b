package pack

import (
	"archive/zip"
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

// What a pack may have at most.
const (
	mostFiles     = 20_000
	mostFileBytes = 256 << 20
	mostBytes     = 2 << 30
	mostWorkspace = 1 << 50
	mostGrid      = 1<<31 - 1
	mostBlock     = 1024
	mostCluster   = 16
	mostShared    = 1 << 20
	mostElement   = 16 // bytes of a type
)

// bound is what a manifest may have at most.
var bound = input.Bound{Kind: "a pack's manifest", Bytes: 64 << 20, Values: 8 << 20, Depth: 24}

// Pack is a pack that has been verified. It is safe for concurrent use.
type Pack struct {
	Manifest
	Path  string
	files map[string][]byte // the kernels' binaries, by path
}

// Open reads a folder or a .zip and verifies all of it: each file's size and digest, and that the
// manifest makes sense. It runs nothing of the pack.
func Open(path string) (*Pack, error) {
	files, closing, err := filesOf(path)
	if err == nil {
		defer closing.Close()
		var p *Pack
		if p, err = read(files); err == nil {
			p.Path = path
			return p, nil
		}
	}
	return nil, fmt.Errorf("the pack %s: %w", path, err)
}

// Is tells whether a path is that of a pack, by its manifest.
func Is(path string) bool {
	files, closing, err := filesOf(path)
	if err != nil {
		return false
	}
	defer closing.Close()
	text, err := readFile(files, ManifestFile, int64(bound.Bytes))
	head := text[:min(len(text), 256)]
	return err == nil && regexp.MustCompile(`^\s*{\s*"schema":\s*"autotune/pack/`).Match(head)
}

// filesOf gives the files of a zip or of a folder.
func filesOf(path string) (fs.FS, io.Closer, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, nil, input.Reason(err)
	case info.IsDir():
		root, err := os.OpenRoot(path)
		if err != nil {
			return nil, nil, input.Reason(err)
		}
		return folder{root}, root, nil
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("it is neither a folder nor a .zip")
	}
	archive, err := zip.OpenReader(path)
	if err != nil {
		return nil, nil, fmt.Errorf("it is neither a folder nor a .zip that can be read: %w", err)
	}
	if err := checkArchive(archive.File); err != nil {
		archive.Close()
		return nil, nil, err
	}
	return archive, archive, nil
}

// checkArchive refuses entries that tools unpack differently, or to other files than their names say: there is one of
// each name, whatever its case, and all are files or folders below the archive's own.
func checkArchive(entries []*zip.File) error {
	if len(entries) > mostFiles {
		return fmt.Errorf("it has %d files; a pack may have %d", len(entries), mostFiles)
	}
	seen := map[string]string{}
	for _, e := range entries {
		name, isFolder := strings.CutSuffix(e.Name, "/")
		key := strings.ToLower(name)
		switch other, twice := seen[key]; {
		case !isPath(name):
			return fmt.Errorf("its entry %.80q has no plain path, as kernels/a.cubin", e.Name)
		case twice:
			return fmt.Errorf("its entries %.80q and %.80q are one file where case does not count; a pack has one of each name", other, e.Name)
		case isFolder && !e.Mode().IsDir(), !isFolder && !e.Mode().IsRegular():
			return fmt.Errorf("its entry %.80q is no regular file", e.Name)
		}
		seen[key] = e.Name
	}
	return nil
}

// isPath tells whether a name is that of a file below a pack's folder on every system.
func isPath(name string) bool {
	return fs.ValidPath(name) && name != "." && filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsAny(name, "\\:") && output.Line(name) == name
}

// folder gives the files of a folder, and no file behind a link: it may lie elsewhere, or change.
type folder struct{ *os.Root }

// Open opens a file. It never waits, as it would for who writes into a pipe.
func (f folder) Open(name string) (fs.File, error) {
	for at, c := range name + "/" {
		if c != '/' {
			continue
		}
		info, err := f.Lstat(name[:at])
		if err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil, &fs.PathError{Op: "open", Path: name, Err: errIrregular}
		}
	}
	return f.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// errIrregular means that something else stands in a file's place.
var errIrregular = errors.New("it is no regular file; a pack has files and folders, and no links")

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

// Contents reads a file of the pack again, and verifies it.
func (p *Pack) Contents(name string) ([]byte, error) {
	want, listed := p.Files[name]
	if !listed {
		return nil, fmt.Errorf("the pack %s: %s is not among its files", p.Path, name)
	}
	files, closing, err := filesOf(p.Path)
	if err != nil {
		return nil, fmt.Errorf("the pack %s: %w", p.Path, err)
	}
	defer closing.Close()
	data, err := want.read(files, name)
	if err != nil {
		return nil, fmt.Errorf("the pack %s: %w", p.Path, err)
	}
	return data, nil
}

// Kernel is a file that kernels are in, as it was verified.
func (p *Pack) Kernel(file string) []byte { return bytes.TrimSuffix(p.files[file], []byte{0}) }

// Unlisted refuses a pack with files that its manifest does not list. Open reads none of them, but what loads a pack
// in Python or C could: a compiled module in __pycache__ runs in the place of the module beside it.
func (p *Pack) Unlisted() error {
	files, closing, err := filesOf(p.Path)
	if err != nil {
		return fmt.Errorf("the pack %s: %w", p.Path, err)
	}
	defer closing.Close()
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

// readFile reads a regular file of at most so many bytes.
func readFile(files fs.FS, name string, most int64) ([]byte, error) {
	f, err := files.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is missing", name)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, input.Reason(err))
	}
	defer f.Close()
	info, err := f.Stat() // of what was opened, whatever is there by now
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

// read reads a file that must be as it was packed.
func (f File) read(files fs.FS, name string) ([]byte, error) {
	data, err := readFile(files, name, f.Bytes)
	if err != nil {
		return nil, err
	}
	if digest := sha256.Sum256(data); int64(len(data)) != f.Bytes || hex.EncodeToString(digest[:]) != f.SHA256 {
		return nil, fmt.Errorf("%s is not the file that was packed: its %d bytes have another digest", name, len(data))
	}
	return data, nil
}

// verify reads every file and holds it against the manifest. It keeps the binaries.
func (p *Pack) verify(files fs.FS) error {
	kept := map[string]bool{}
	for _, e := range p.Entries {
		kept[e.File] = true
	}
	for _, g := range p.General {
		kept[g.File] = true
	}
	for _, f := range p.Families {
		for _, v := range f.Variants {
			kept[v.File] = true
		}
	}
	for name, want := range sorted(p.Files) {
		data, err := want.read(files, name)
		if err != nil {
			return err
		}
		if kept[name] {
			p.files[name] = append(data, 0) // a zero byte ends PTX
		}
	}
	return nil
}
