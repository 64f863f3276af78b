// Package scratch makes temporary folders that do not outlive a killed process for
// long: the next process that makes one of their kind removes them.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A process that is killed cannot remove its temporary folders. So beside each
// folder lies a file that its process has locked before it made the folder.
// Whoever makes the next one removes those whose lock the system has given back.
const lockSuffix = ".lock" // what the folder's name is followed by

type Folder struct {
	Dir  string
	lock *os.File
}

// New makes a folder of a kind, as "emulator": its name begins with autotune and that.
func New(kind string) (*Folder, error) {
	prefix := "autotune-" + kind + "-"
	sweep(os.TempDir(), prefix)
	lock, err := newLock(prefix)
	if err != nil {
		return nil, fmt.Errorf("the %s needs a temporary folder: %w", kind, err)
	}
	s := &Folder{Dir: filepath.Clean(strings.TrimSuffix(lock.Name(), lockSuffix)), lock: lock}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("the %s needs a temporary folder: %w", kind, err), s.unlock())
	}
	return s, nil
}

func (s *Folder) Free() (int64, error) {
	var found syscall.Statfs_t
	if err := syscall.Statfs(s.Dir, &found); err != nil {
		return 0, fmt.Errorf("the room in %s: %w", s.Dir, err)
	}
	return int64(found.Bavail) * int64(found.Bsize), nil
}

// newLock makes a file of a new name and locks it. Another process that sweeps may
// remove it before it is locked: then the next is tried.
func newLock(prefix string) (*os.File, error) {
	for {
		f, err := os.CreateTemp("", prefix+"*"+lockSuffix)
		if err != nil {
			return nil, err
		}
		locked := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if locked == nil && there(f) {
			return f, nil
		}
		_ = f.Close() // nothing was written
		if locked != nil && !errors.Is(locked, syscall.EWOULDBLOCK) {
			return nil, errors.Join(locked, os.Remove(f.Name()))
		}
	}
}

// there tells whether an open file still has its name.
func there(f *os.File) bool {
	opened, err := f.Stat()
	named, gone := os.Stat(f.Name())
	return err == nil && gone == nil && os.SameFile(opened, named)
}

// Close removes the folder. Closing it again does nothing.
func (s *Folder) Close() error {
	if s.lock == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(s.Dir), s.unlock())
}

func (s *Folder) unlock() error {
	err := os.Remove(s.lock.Name())
	_ = s.lock.Close() // nothing was written
	s.lock = nil
	return err
}

// sweep removes the folders that dead processes of this user left. What cannot be removed is left for another time.
func sweep(within, prefix string) {
	entries, _ := os.ReadDir(within)
	for _, e := range entries {
		folder, isLock := strings.CutSuffix(e.Name(), lockSuffix)
		if !isLock || !strings.HasPrefix(folder, prefix) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) == os.Getuid() {
			removeIfFree(filepath.Join(within, e.Name()), filepath.Join(within, folder))
		}
	}
}

// removeIfFree removes a folder and its lock, if no process holds that.
func removeIfFree(lock, folder string) {
	f, err := os.OpenFile(lock, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	free := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil // this process holds it then
	if free && os.RemoveAll(folder) == nil {
		_ = os.Remove(lock)
	}
}
