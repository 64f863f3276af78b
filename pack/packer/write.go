package packer

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"autotune/internal/output"
	"autotune/pack"
)

// Check finds out, before anything is compiled, whether a pack can be written to a path. The path
// must be free or hold a pack. With force it may be any other file, but not another folder.
func Check(path string, force bool) error {
	parent := filepath.Dir(filepath.Clean(path))
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := output.CheckFolder(parent); err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("cannot write %s: %w", path, err)
	case info.IsDir() != !isZip(path):
		return fmt.Errorf("cannot write %s: a pack is a folder, or a file whose name ends with .zip", path)
	case pack.Is(path), isEmpty(path), force && !info.IsDir():
		return nil
	case info.IsDir():
		return fmt.Errorf("cannot write %s: it is a folder of other files, not a pack; name another, or empty it", path)
	}
	return fmt.Errorf("cannot write %s: %w; name another file, or add --force", path, output.ErrForeign)
}

func isZip(path string) bool { return strings.EqualFold(filepath.Ext(path), ".zip") }

func isEmpty(path string) bool {
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) == 0
}

// Write writes the pack, whole or not at all.
func (p *Packed) Write(path string) error {
	if isZip(path) {
		return output.To(path, p.zip)
	}
	if err := p.folder(filepath.Clean(path)); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// zip writes files in one order, without times: the same pack gives the same bytes.
func (p *Packed) zip(w io.Writer) error {
	z := zip.NewWriter(w)
	for _, name := range p.paths() {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		header.SetMode(0o644)
		f, err := z.CreateHeader(header)
		if err == nil {
			_, err = f.Write(p.files[name])
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

// folder fills a new folder beside the path, and puts it in the place of an earlier pack.
func (p *Packed) folder(path string) error {
	work, err := os.MkdirTemp(filepath.Dir(path), ".autotune-pack-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fresh, old := filepath.Join(work, "new"), filepath.Join(work, "old")
	for _, name := range p.paths() {
		file := filepath.Join(fresh, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, p.files[name], 0o644); err != nil {
			return err
		}
	}
	if err := os.Rename(path, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return errors.Join(err, os.Rename(old, path))
	}
	return nil
}
