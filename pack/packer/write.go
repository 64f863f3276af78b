package packer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"autotune/internal/output"
	"autotune/pack"
)

// Check finds out, before anything is compiled, whether a pack can be written to a path. The path of a new pack may
// name nothing, an empty folder or an earlier pack.
func Check(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = output.CheckFolder(filepath.Dir(filepath.Clean(path)))
	case err == nil && !info.IsDir():
		err = errors.New("it is a file, and a pack is a folder")
	case err == nil && !pack.Is(path) && !isEmpty(path):
		err = errors.New("it is a folder of other files, not a pack; name another, or empty it")
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

func isEmpty(path string) bool {
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) == 0
}

// Write writes the pack, whole or not at all.
func (p *Packed) Write(path string) error {
	if err := p.folder(filepath.Clean(path)); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// folder fills a new folder next to the path, and then replaces an earlier pack by it.
func (p *Packed) folder(path string) error {
	work, err := os.MkdirTemp(filepath.Dir(path), ".autotune-pack-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fresh, old := filepath.Join(work, "new"), filepath.Join(work, "old")
	for name, data := range p.files {
		file := filepath.Join(fresh, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
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
