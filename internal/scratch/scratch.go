// Package scratch makes temporary folders. Folders that a killed process leaves are removed by the next process that
// makes a folder of the same kind.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is a temporary folder that is locked by the process that made it. When a process is killed, the system
// releases its locks, which shows the next process that the folder may be removed.
type Folder struct {
	Dir  string
	lock *os.File // the folder itself
}

// attempts limits how many folders New makes before it gives up, because some file systems cannot lock a folder.
const attempts = 100

// New makes a temporary folder of a kind, such as "emulator"; the folder's name begins with "autotune-" and the kind.
func New(kind string) (*Folder, error) {
	pattern := "autotune-" + kind + "-"
	sweep(filepath.Join(os.TempDir(), pattern+"*"))
	for range attempts {
		dir, err := os.MkdirTemp("", pattern)
		if err != nil {
			return nil, fmt.Errorf("the %s needs a temporary folder: %w", kind, err)
		}
		// If another process has locked the new folder first, in order to remove what looks like an abandoned folder,
		// make a further folder.
		if lock := locked(dir); lock != nil {
			return &Folder{Dir: filepath.Clean(dir), lock: lock}, nil
		}
		_ = os.Remove(dir) // it is empty, or gone
	}
	return nil, fmt.Errorf("the %s needs a temporary folder, and none in %s can be locked", kind, os.TempDir())
}

func (s *Folder) Free() (int64, error) {
	var found syscall.Statfs_t
	if err := syscall.Statfs(s.Dir, &found); err != nil {
		return 0, fmt.Errorf("the room in %s: %w", s.Dir, err)
	}
	return int64(found.Bavail) * int64(found.Bsize), nil
}

// Close removes the folder. A second call of Close does nothing.
func (s *Folder) Close() error {
	if s.lock == nil {
		return nil
	}
	err := errors.Join(os.RemoveAll(s.Dir), s.lock.Close())
	s.lock = nil
	return err
}

// locked opens and locks a folder of this user, or returns nil if another process has locked or removed the folder.
func locked(dir string) *os.File {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	opened, err := f.Stat()
	if err == nil && opened.Sys().(*syscall.Stat_t).Uid == uint32(os.Getuid()) &&
		syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		if named, err := os.Lstat(dir); err == nil && os.SameFile(opened, named) {
			return f
		}
	}
	_ = f.Close() // nothing was written
	return nil
}

// sweep removes the folders that dead processes of this user left. If a folder cannot be removed now, the next call of
// sweep tries to remove it again.
func sweep(pattern string) {
	folders, _ := filepath.Glob(pattern)
	for _, dir := range folders {
		if lock := locked(dir); lock != nil {
			_ = os.RemoveAll(dir)
			_ = lock.Close()
		}
	}
}
