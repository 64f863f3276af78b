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

// AbsentError means that the cache file to read does not exist.
type AbsentError struct{ Path string }

func (e *AbsentError) Error() string {
	return fmt.Sprintf("there is no cache at %s yet; a search makes it", e.Path)
}

func (e *AbsentError) Unwrap() error { return fs.ErrNotExist }

// DamagedError means that a cache's file is damaged.
type DamagedError struct {
	Path   string
	Detail string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("cache %s is damaged: %s; `autotune cache check --cache %s` tells more; move it away or use --cache OTHER",
		e.Path, e.Detail, e.Path)
}

// ForeignError means that a file is not a cache.
type ForeignError struct {
	Path   string
	Detail string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is not an autotune cache (%s) and is left as it is; use --cache OTHER", e.Path, e.Detail)
}

// SchemaError means that a cache was written by an autotune with another schema version.
type SchemaError struct {
	Path string
	Has  string // the cache's schema version
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("cache %s has schema %s, this autotune reads schema %d; it is left as it is: export its trials with the version that wrote it"+
		" (`autotune cache export`), or move it away or use --cache OTHER to start anew", e.Path, e.Has, schemaVersion)
}

// LockedError means that another process has the cache locked.
type LockedError struct {
	Path    string
	Holders []string // as "process 12"; empty if they cannot be found out
	Waited  time.Duration
}

func (e *LockedError) Error() string {
	who := cmp.Or(strings.Join(e.Holders, " and "), "another process")
	return fmt.Sprintf("cache %s is in use by %s (waited %v); let it finish or use --cache OTHER", e.Path, who, e.Waited)
}

// lockedBy finds, in the kernel's list of locks, the processes that lock the file. A line of /proc/locks looks like "1:
// FLOCK ADVISORY WRITE 20102 fe:00:9977947 0 EOF". lockedBy compares only the inodes, since for some file systems the
// list and stat show different device numbers. The kernel's list of locks shows a number of 0 or less for a process
// that is not visible from this one, as in another container.
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
