//go:build soak

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	heapMB, residentMB float64
	cacheKB            int64
	binariesMB         float64
	server, workers    usage // of the workers the most
}

func measured(t *testing.T, dir, cache string) level {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	files, _ := os.ReadDir("/proc/self/fd")
	l := level{
		processes: processesOf(dir), goroutines: runtime.NumGoroutine(), files: len(files),
		heapMB: float64(memory.HeapAlloc) / 1e6, residentMB: resident("self"),
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

// resident is the memory of a process in MB.
func resident(pid string) float64 {
	text, _ := os.ReadFile(filepath.Join("/proc", pid, "statm"))
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(fields[1])
	return float64(pages*os.Getpagesize()) / 1e6
}

// table prints what docs/reliability.md shows, and sees that nothing grew.
func (s *soak) table(t *testing.T, took time.Duration, levels []level) {
	var text strings.Builder
	row := func(what string, value any) { fmt.Fprintf(&text, "| %s | %v |\n", what, value) }
	row("time", took.Round(time.Second))
	for _, what := range slices.Sorted(maps.Keys(s.counts)) {
		row(what, s.counts[what])
	}
	row("trials that finished searches reported, all of them in the cache at each look", len(s.seen))
	row("looks at the cache, each sound", len(levels))
	if len(levels) == 0 {
		t.Fatal("nothing was looked at")
	}
	first, last := levels[min(1, len(levels)-1)], levels[len(levels)-1]
	row("processes and temporary folders left", fmt.Sprint(last.processes, " and ", last.scratch))
	row("goroutines, open files of the process that searches on", fmt.Sprintf("%d, %d; at the end %d, %d", first.goroutines, first.files, last.goroutines, last.files))
	row("its heap, its memory", fmt.Sprintf("%.1f MB, %.0f MB; at the end %.1f MB, %.0f MB", first.heapMB, first.residentMB, last.heapMB, last.residentMB))
	row("the cache", fmt.Sprintf("%d KB; at the end %d KB", first.cacheKB, last.cacheKB))
	row("compiled binaries", fmt.Sprintf("%.1f MB; at the end %.1f MB", first.binariesMB, last.binariesMB))
	row("open files, memory of the NATS server", fmt.Sprintf("%d, %.0f MB; at the end %d, %.0f MB", first.server.files, first.server.mb, last.server.files, last.server.mb))
	row("the same of a worker, the most", fmt.Sprintf("%d, %.0f MB; at the end %d, %.0f MB", first.workers.files, first.workers.mb, last.workers.files, last.workers.mb))
	fmt.Print(text.String())
	if last.goroutines > first.goroutines+mostGoroutines || last.files > first.files+mostFiles || last.heapMB > first.heapMB+mostHeapMB {
		t.Errorf("the process that searches on grows: %+v became %+v", first, last)
	}
}
