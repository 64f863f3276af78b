package store

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// openFileLock is Linux's F_OFD_SETLK: a lock that belongs to an open file and
// goes with it, however its process ends.
const openFileLock = 37

// claims are the locks held. They have a mutex of their own: who claims need not
// wait for a transaction.
type claims struct {
	mu     sync.Mutex
	file   *os.File // nil until something is claimed
	closed bool
}

func (c *claims) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.file == nil {
		c.closed = true
		return nil
	}
	c.closed = true
	return c.file.Close()
}

// Claim announces that the trial with this key (Provenance.Key) is about to be
// made here. It tells false if another search claims it. Claims are held until
// Release or Close, or the end of the process, whichever comes first.
//
// A claim is a lock on one byte of an empty file beside the cache, at the place
// that the key names. It is no part of what is kept: where the file system has no
// such locks, everybody may claim everything, and some trials are made twice.
func (s *Store) Claim(key string) (bool, error) {
	c := &s.claims
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false, fmt.Errorf("the cache %s is closed", s.path)
	}
	if c.file == nil {
		f, err := os.OpenFile(s.path+".claims", os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return false, unusable(s.path, err)
		}
		c.file = f
	}
	err := c.lockByte(key, syscall.F_WRLCK)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return false, nil
	}
	return true, nil
}

// Release gives up a claim.
func (s *Store) Release(key string) {
	c := &s.claims
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil && !c.closed {
		_ = c.lockByte(key, syscall.F_UNLCK)
	}
}

func (c *claims) lockByte(key string, kind int16) error {
	raw, err := hex.DecodeString(key)
	if err != nil || len(raw) < 8 {
		return fmt.Errorf("%q is no key of a trial", key)
	}
	lock := syscall.Flock_t{Type: kind, Start: int64(binary.BigEndian.Uint64(raw) >> 2), Len: 1}
	return syscall.FcntlFlock(c.file.Fd(), openFileLock, &lock)
}
