package store

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// AbsentError is a cache that is only to be read and is not there.
type AbsentError struct{ Path string }

func (e *AbsentError) Error() string {
	return fmt.Sprintf("there is no cache at %s yet; a search makes it", e.Path)
}

// Unwrap makes it an fs.ErrNotExist.
func (e *AbsentError) Unwrap() error { return fs.ErrNotExist }

// DamagedError is a file that is a cache but cannot be read as one.
type DamagedError struct {
	Path   string
	Detail string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("cache %s is damaged: %s; `autotune cache check --cache %s` tells more; move it away or use --cache OTHER",
		e.Path, e.Detail, e.Path)
}

// ForeignError is a file that is no cache.
type ForeignError struct {
	Path   string
	Detail string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is not an autotune cache (%s) and is left as it is; use --cache OTHER", e.Path, e.Detail)
}

// NewerError is a cache that a newer autotune wrote.
type NewerError struct {
	Path string
	Has  string // its schema version
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("cache %s has schema %s, this autotune knows up to %d; use a newer autotune or --cache OTHER",
		e.Path, e.Has, schemaVersion)
}

// LockedError is a cache that another process holds.
type LockedError struct {
	Path    string
	Holders []Holder // empty if they cannot be found out
	Waited  time.Duration
}

// Holder is a process that has the file.
type Holder struct {
	PID     int
	Command string // its command line
}

func (h Holder) String() string {
	if h.Command == "" {
		return fmt.Sprintf("process %d", h.PID)
	}
	return fmt.Sprintf("process %d (%s)", h.PID, h.Command)
}

func (e *LockedError) Error() string {
	var names []string
	for _, h := range e.Holders {
		names = append(names, h.String())
	}
	who := cmp.Or(strings.Join(names, " and "), "another process")
	return fmt.Sprintf("cache %s is in use by %s (waited %v); let it finish or use --cache OTHER", e.Path, who, e.Waited)
}
