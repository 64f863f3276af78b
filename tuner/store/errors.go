package store

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// AbsentError is a cache that is only to be read and is not there.
type AbsentError struct{ Path string }

func (e *AbsentError) Error() string {
	return fmt.Sprintf("there is no cache at %s yet; a search makes it", e.Path)
}

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

// SchemaError is a cache that an autotune with another schema wrote.
type SchemaError struct {
	Path string
	Has  string // its schema version
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("cache %s has schema %s, this autotune reads schema %d; it is left as it is: export its trials with the version that wrote it"+
		" (`autotune cache export`), or move it away or use --cache OTHER to start anew", e.Path, e.Has, schemaVersion)
}

// LockedError is a cache that another process holds.
type LockedError struct {
	Path    string
	Holders []string // as "process 12"; empty if they cannot be found out
	Waited  time.Duration
}

func (e *LockedError) Error() string {
	who := cmp.Or(strings.Join(e.Holders, " and "), "another process")
	return fmt.Sprintf("cache %s is in use by %s (waited %v); let it finish or use --cache OTHER", e.Path, who, e.Waited)
}

// lockedBy says who holds the file, as far as the kernel's list of locks shows it. Its lines look like "1: FLOCK
// ADVISORY  WRITE 20102 fe:00:9977947 0 EOF". Only the inode is compared: some file systems show another device there
// than to stat. A process that cannot be seen has the number 0 or less.
func lockedBy(path string, waited time.Duration) *LockedError {
	e := &LockedError{Path: path, Waited: waited}
	var file syscall.Stat_t
	list, err := os.ReadFile("/proc/locks")
	if err != nil || syscall.Stat(path, &file) != nil {
		return e
	}
	form := regexp.MustCompile(fmt.Sprintf(`(?m)^\S+ FLOCK +\S+ +\S+ +([1-9]\d*) \S+:%d `, file.Ino))
	for _, m := range form.FindAllStringSubmatch(string(list), -1) {
		e.Holders = append(e.Holders, "process "+m[1])
	}
	slices.Sort(e.Holders)
	e.Holders = slices.Compact(e.Holders)
	return e
}
