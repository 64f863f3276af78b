package emulator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A process that is killed cannot remove its temporary folders. So each folder
// holds a file that its process has locked, and whoever makes the next one
// removes those whose lock the system has given back.
const (
	scratchPrefix = "autotune-emulator-"
	scratchLock   = "lock"
	// An older program's folder has no lock; nothing runs this long.
	scratchUnlocked = 48 * time.Hour
)

// scratch is a temporary folder of this process.
type scratch struct {
	dir  string
	lock *os.File
}

func newScratch() (*scratch, error) {
	sweep(os.TempDir(), time.Now())
	dir, err := temporary("", scratchPrefix)
	if err != nil {
		return nil, err
	}
	s := &scratch{dir: dir}
	if s.lock, err = lockIn(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("the emulator needs a temporary folder: %w", err), os.RemoveAll(dir))
	}
	return s, nil
}

// lockIn makes the lock of a folder. It gets its name when it is locked already:
// without one, the folder is not swept.
func lockIn(dir string) (*os.File, error) {
	path := filepath.Join(dir, scratchLock)
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close removes the folder. Closing it again does nothing.
func (s *scratch) Close() error {
	err := os.RemoveAll(s.dir)
	_ = s.lock.Close() // nothing was written
	return err
}

// sweep removes the folders that dead processes of this user left. What cannot be
// removed is left for another time.
func sweep(within string, now time.Time) {
	entries, _ := os.ReadDir(within)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), scratchPrefix) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
			continue
		}
		dir := filepath.Join(within, e.Name())
		if abandoned(dir, now.Sub(info.ModTime())) {
			_ = os.RemoveAll(dir)
		}
	}
}

// abandoned tells whether no process holds the folder's lock.
func abandoned(dir string, age time.Duration) bool {
	lock, err := os.OpenFile(filepath.Join(dir, scratchLock), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return errors.Is(err, os.ErrNotExist) && age > scratchUnlocked
	}
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
