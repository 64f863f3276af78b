package store

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// openFileLock is Linux's F_OFD_SETLK, which not every system's package names: a lock that belongs to an open file.
const openFileLock = 37

// claims are locks on bytes of an empty file beside the cache. They belong to the open file and go with it, however its
// process ends. They have a mutex of their own: who claims need not wait for a transaction.
type claims struct {
	lockFile string

	mu    sync.Mutex
	file  *os.File // nil until something is claimed
	ended bool
}

func (c *claims) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended = true; c.file == nil {
		return nil
	}
	file := c.file
	c.file = nil
	return file.Close()
}

// Claim announces that the trial with this key (Provenance.Key) is about to be made here. It tells false if another
// search claims it. Claims are held until Release or Close, or the end of the process, whichever comes first.
//
// A claim is no part of what is kept: where the file system has no such locks, everybody may claim everything, and some
// trials are made twice.
func (c *claims) Claim(key string) (mine bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false, fmt.Errorf("%s is closed", c.lockFile)
	}
	if c.file == nil {
		if c.file, err = os.OpenFile(c.lockFile, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
			return false, unusable(c.lockFile, err)
		}
	}
	err = c.lockByte(key, unix.F_WRLCK)
	return !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES), nil
}

// Release gives up a claim.
func (c *claims) Release(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		_ = c.lockByte(key, unix.F_UNLCK)
	}
}

// lockByte locks the byte at the place that a key names.
func (c *claims) lockByte(key string, kind int16) error {
	raw, err := hex.DecodeString(key)
	if err != nil || len(raw) < 8 {
		return fmt.Errorf("%q is no key of a trial", key)
	}
	lock := unix.Flock_t{Type: kind, Start: int64(binary.BigEndian.Uint64(raw) >> 2), Len: 1}
	return unix.FcntlFlock(c.file.Fd(), openFileLock, &lock)
}
