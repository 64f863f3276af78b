package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
)

// filled lists the ways to let a command run out of disk space: a disk with ROOM kilobytes more than the cache takes,
// and a limit on the size of each file.
var filled = []struct{ name, script, reason string }{
	// The script mounts a disk over the folder that only the command sees, and afterwards copies the command's files
	// to a folder that the test can read.
	{"disk", `mount -t tmpfs -o size=$((ROOM + SIZE))k none "$DISK" && cp CACHE "$DISK"/cache.db && autotune "$@"; code=$?; cp -r "$DISK"/. "$LEFT" && exit $code`,
		"no space left on device"},
	{"limit", `cp CACHE "$DISK"/cache.db && (ulimit -f $((2 * ROOM)) && autotune "$@"); code=$?; cp -r "$DISK"/. "$LEFT" && exit $code`,
		"file too large"},
}

// elsewhere is a command that searches, and stores both its results and its compiled kernels on the full disk.
var elsewhere = cacheUse{name: "search-compiling", line: "search max_pool2d --shape 1x1x8x8 --device emulator --budget 2 --cache CACHE -q", searches: true}

// A command that runs out of disk space at any point must say which file it could not write, and lose no trial.
func fullDisks(t *testing.T, s *seasoned) {
	cache := s.bytes(t)
	for _, way := range filled {
		for _, use := range append(slices.Clone(endurance.Some(cacheUses, 4)), elsewhere) {
			t.Run(way.name+"/"+use.name, func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(17, uint64(len(use.line))))
				refused := 0
				for n := range endurance.Times(1, 60) {
					room := 4 * n // kilobytes; the first runs get one page more each
					switch {
					case use.name == elsewhere.name:
						room = rng.IntN(400)
					case n >= 30 || way.name == "limit":
						room = rng.IntN(len(cache)>>10 + 100)
					}
					w := s.workplace(t, t.TempDir(), use, cache)
					before, err := trialKeys(t, w.cache)
					must.OK(t, err)
					e, left := s.runFull(t, w, use, way.script, room, len(cache)>>10)
					if strings.Contains(e.complaint, "mount:") || strings.Contains(e.complaint, "unshare") {
						t.Skip(e.complaint)
					}
					if fault := e.fault(use); fault != "" {
						t.Errorf("%d KB: %s: %s", room, fault, e.complaint)
					}
					if e.code != exitFound {
						refused++
						named := strings.Contains(e.complaint, w.dir) || strings.Contains(e.complaint, "/autotune-emulator-")
						if !strings.Contains(e.complaint, way.reason) || !named {
							t.Errorf("%d KB: code %d, and neither file nor reason: %s", room, e.code, e.complaint)
						}
					}
					after, err := trialKeys(t, left.cache)
					if gone := lost(before, after); err != nil || len(gone) > 0 {
						t.Errorf("%d KB: the trials %v are lost, %v: %s", room, gone, err, e.complaint)
					}
					left.mustBeWhole(t)
				}
				t.Logf("%s: %d refused", t.Name(), refused)
			})
		}
	}
}

// runFull runs a command with room kilobytes of disk space left. runFull returns how the command ended and the files
// that it left.
func (s *seasoned) runFull(t *testing.T, w workplace, use cacheUse, script string, room, size int) (ended, workplace) {
	t.Helper()
	disk, left := filepath.Join(w.dir, "disk"), filepath.Join(w.dir, "left")
	for _, dir := range []string{disk, left} {
		must.OK(t, os.Mkdir(dir, 0o755))
	}
	script = strings.NewReplacer("ROOM", fmt.Sprint(room), "SIZE", fmt.Sprint(size), "CACHE", w.cache).Replace(script)
	line := strings.ReplaceAll(strings.ReplaceAll(w.line, w.dir+"/new", disk+"/new"), w.cache, disk+"/cache.db")
	c, complaint := s.command(t, "sh", append([]string{"-c", script, "sh"}, strings.Fields(line)...)...)
	c.Env = append(c.Env, "DISK="+disk, "LEFT="+left)
	if use.name == elsewhere.name {
		c.Env = append(c.Env, "XDG_CACHE_HOME="+disk+"/xdg", "TMPDIR="+disk)
	}
	if strings.Contains(script, "mount") {
		c.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		if err := c.Start(); err != nil {
			t.Skipf("no disk of its own here: %v", err)
		}
		return waited(c, complaint), workplace{dir: left, cache: filepath.Join(left, "cache.db")}
	}
	return end(t, c, complaint), workplace{dir: left, cache: filepath.Join(left, "cache.db")}
}
