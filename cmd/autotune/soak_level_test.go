//go:build soak

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What may grow in a process that searches again and again, from the second
// look to the last: the first searches make what stays.
const (
	mostGoroutines = 2
	mostFiles      = 2
	mostHeapMB     = 16
)

// level is what there is when all is still.
type level struct {
	processes, scratch int // of commands that have ended
	strays             int // files under the temporary names of killed writers
	goroutines, files  int // of this process, which searches too
	heapMB             float64
	cacheKB            int64
	binariesMB         float64
}

func measured(t *testing.T, dir, cache string) level {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	files, _ := os.ReadDir("/proc/self/fd")
	l := level{
		processes: processesOf(dir), goroutines: runtime.NumGoroutine(), files: len(files),
		heapMB: float64(memory.HeapAlloc) / 1e6,
	}
	_ = filepath.WalkDir(filepath.Dir(filepath.Dir(cache)), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		switch info, _ := d.Info(); {
		case strings.HasPrefix(d.Name(), "autotune-emulator-"):
			l.scratch++
			if d.IsDir() {
				return fs.SkipDir
			}
		case strings.HasSuffix(d.Name(), ".new") || strings.HasPrefix(d.Name(), ".new"):
			l.strays++
		case path == cache && info != nil:
			l.cacheKB = info.Size() >> 10
		case strings.Contains(path, "/xdg/") && info != nil && !d.IsDir():
			l.binariesMB += float64(info.Size()) / 1e6
		}
		return nil
	})
	return l
}

// processesOf counts other processes whose temporary files go to a folder.
func processesOf(dir string) (n int) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		text, _ := os.ReadFile(path)
		if pid, _ := strconv.Atoi(strings.Split(path, "/")[2]); pid != os.Getpid() && bytes.Contains(text, []byte("TMPDIR="+dir)) {
			n++
		}
	}
	return n
}

// sum prints what docs/reliability.md tells, and sees that nothing grew.
func (s *soak) sum(t *testing.T, took time.Duration, levels []level) {
	if len(levels) == 0 {
		t.Fatal("nothing was looked at")
	}
	first, last := levels[min(1, len(levels)-1)], levels[len(levels)-1]
	fmt.Printf("%v: %v\n%d trials that finished searches reported, all of them in the cache at each of %d looks\nfirst %+v\nlast %+v\n",
		took.Round(time.Second), s.counts, len(s.seen), len(levels), first, last)
	if last.goroutines > first.goroutines+mostGoroutines || last.files > first.files+mostFiles || last.heapMB > first.heapMB+mostHeapMB {
		t.Errorf("the process that searches on grows: %+v became %+v", first, last)
	}
}
