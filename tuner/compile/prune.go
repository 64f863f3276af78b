package compile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The bounds of the cache. The library's own Trim knows only ages: a week of
// searches would fill the disk, and what a search of last week compiled would
// go although there is room.
const (
	maxBytes   = 1 << 30
	pruneEvery = 24 * time.Hour
	keepAfter  = 0.8 // pruning leaves this share of maxBytes, so that the next one is not due at once
	prunedFile = "pruned"
)

// pruneIfDue bounds the directory's size, at most once a day: the walk over all
// entries is short but not free.
func pruneIfDue(dir string, now time.Time) error {
	stamp := filepath.Join(dir, prunedFile)
	if info, err := os.Stat(stamp); err == nil && now.Sub(info.ModTime()) < pruneEvery {
		return nil
	}
	err := errors.Join(os.WriteFile(stamp, nil, 0o644), os.Chtimes(stamp, now, now))
	if err == nil {
		prune(dir, maxBytes)
	}
	return err
}

// prune removes the files that were used longest ago until the rest is well
// within the bound. Only the 256 folders of entries are looked at, whatever
// layout wrote them; other files in the directory may be the user's. What cannot
// be read or removed is somebody else's to deal with.
func prune(dir string, bound int64) {
	type file struct {
		path string
		fs.FileInfo
	}
	var files []file
	var total int64
	paths, _ := filepath.Glob(filepath.Join(dir, "[0-9a-f][0-9a-f]", "*"))
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, file{path, info})
			total += info.Size()
		}
	}
	if total <= bound {
		return
	}
	slices.SortFunc(files, func(a, b file) int { return a.ModTime().Compare(b.ModTime()) })
	for _, old := range files {
		if float64(total) <= keepAfter*float64(bound) {
			return
		}
		if os.Remove(old.path) == nil {
			total -= old.Size()
		}
	}
}
