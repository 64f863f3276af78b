package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/store"
)

// cacheUses lists all commands that use a cache. The endurance tests kill the commands in cacheUses, and run them on
// full disks and with damaged files. CACHE stands for a copy of a filled cache, OTHER for a second cache to read from,
// and NEW for the name of a file that does not exist.
var cacheUses = []cacheUse{
	{name: "search", line: "search max_pool2d --shape 1x1x8x8 --device emulator --budget 4 --fresh --cache CACHE -q --json NEW.json --plot NEW --record NEW.t4", searches: true},
	{name: "ls", line: "cache ls --cache CACHE"},
	{name: "check", line: "cache check --cache CACHE"},
	{name: "merge-from", line: "cache merge NEW.db CACHE"},
	{name: "merge-into", line: "cache merge CACHE OTHER"},
	{name: "rm", line: "cache rm avg_pool1d --cache CACHE"},
	{name: "export", line: "cache export max_pool2d --shape 1x1x8x8 --cache CACHE -o NEW.t4"},
	{name: "best", line: "best max_pool2d --shape 1x1x8x8 --device emulator --cache CACHE --json NEW.json"},
}

type cacheUse struct {
	name, line string
	searches   bool // compiles and runs kernels
}

// No command may lose a trial to a kill, a full disk or a damaged file.
func TestEndurance(t *testing.T) {
	testneeds.Nothing(t)
	if testing.Short() {
		t.Skip("starts the program many times")
	}
	s := season(t)
	t.Run("killed", func(t *testing.T) { killedAnywhere(t, s) })
	t.Run("full", func(t *testing.T) { fullDisks(t, s) })
}

// removable is the problem that the tested command `cache rm` removes, without removing any other problem.
var removable = store.ProblemID{Problem: "avg_pool1d 1x1x64 kernel=2", Device: "NVIDIA A100", Kind: device.CUDA}

// seasoned holds filled caches, of which each command in the endurance tests gets copies.
type seasoned struct {
	cache, other string
	xdg          string // the folder of compiled binaries
}

func season(t *testing.T) *seasoned {
	t.Helper()
	testneeds.CXX.Need(t)
	dir := t.TempDir()
	s := &seasoned{cache: filepath.Join(dir, "cache.db"), other: filepath.Join(dir, "other.db"), xdg: filepath.Join(dir, "xdg")}
	must.OK(t, compiledTogether(t)(s.xdg))
	crafted(t, s.cache, removable, 300)
	crafted(t, s.cache, store.ProblemID{Problem: "conv2d 1x1x8x8", Device: "NVIDIA H100", Kind: device.CUDA}, 60)
	crafted(t, s.other, store.ProblemID{Problem: "conv2d 1x1x9x9", Device: "NVIDIA H100", Kind: device.CUDA}, 300)
	search := "search max_pool2d --shape 1x1x8x8 --device emulator --budget 4 -q --fresh --cache "
	if e := s.run(t, search+s.cache); e.code != exitFound {
		t.Fatalf("%s: %s", search, e.complaint)
	}
	return s
}

func (s *seasoned) bytes(t *testing.T) []byte {
	t.Helper()
	raw := must.Read(t, s.cache)
	return raw
}

// crafted writes n made-up trials of a problem into a cache.
func crafted(t *testing.T, path string, id store.ProblemID, n int) {
	t.Helper()
	s, err := store.Open(t.Context(), path, store.Options{})
	must.OK(t, err)
	var entries []store.Entry
	for i := range n {
		entries = append(entries, store.Entry{
			Provenance: store.Provenance{KernelDigest: fmt.Sprint(id, i), Device: id.Device, Protocol: device.DefaultProtocol()},
			Trial: trial.Trial{
				Configuration: space.Configuration{Template: "direct", Values: space.Values{{Name: "block_x", Value: expr.Int(int64(i))}}},
				Outcome:       trial.Outcome{Status: trial.OK, Time: trial.Timing{Median: 1, Samples: 30}},
			},
		})
	}
	err = s.PutTrials(id, entries)
	must.OK(t, errors.Join(err, s.Close()))
}

// workplace is a folder with a copy of the cache, in which one command runs.
type workplace struct {
	dir, cache string
	line       string // the command
}

func (s *seasoned) workplace(t *testing.T, dir string, use cacheUse, cache []byte) workplace {
	t.Helper()
	w := workplace{dir: dir, cache: filepath.Join(dir, "cache.db")}
	must.OK(t, os.WriteFile(w.cache, cache, 0o644))
	w.line = strings.NewReplacer("CACHE", w.cache, "OTHER", s.other, "NEW", filepath.Join(dir, "new")).Replace(use.line)
	return w
}

// ended records how a command ended: its exit code, its messages, and the time and memory that it took.
type ended struct {
	code      int
	complaint string
	seconds   float64 // processor time, without compilers and kernels
	mb        int64
	hung      bool
}

// prepared makes a program ready to start and collects its standard error.
func prepared(t *testing.T, name string, arguments ...string) (c *exec.Cmd, complaint *bytes.Buffer) {
	c, complaint = exec.CommandContext(t.Context(), name, arguments...), &bytes.Buffer{}
	c.Env = append(os.Environ(), "GOGC=")
	c.Stderr, c.WaitDelay = complaint, time.Second
	return c, complaint
}

// command prepares a command of autotune that uses the tests' shared folder of compiled kernels.
func (s *seasoned) command(t *testing.T, name string, arguments ...string) (c *exec.Cmd, complaint *bytes.Buffer) {
	c, complaint = prepared(t, name, arguments...)
	c.Env = append(c.Env, "XDG_CACHE_HOME="+s.xdg)
	return c, complaint
}

// run runs autotune and waits until it ends.
func (s *seasoned) run(t *testing.T, line string) ended {
	t.Helper()
	c, complaint := s.command(t, "autotune", strings.Fields(line)...)
	return end(t, c, complaint)
}

// end runs a program to its end, and kills a program that hangs.
func end(t *testing.T, c *exec.Cmd, complaint *bytes.Buffer) ended {
	t.Helper()
	must.OK(t, c.Start())
	return waited(c, complaint)
}

func waited(c *exec.Cmd, complaint *bytes.Buffer) ended {
	e := ended{}
	stop := time.AfterFunc(refusalWait*2, func() {
		e.hung = true
		_ = c.Process.Kill()
	})
	_ = c.Wait()
	stop.Stop()
	usage := c.ProcessState.SysUsage().(*syscall.Rusage)
	e.code, e.complaint, e.mb = c.ProcessState.ExitCode(), complaint.String(), usage.Maxrss>>10
	e.seconds = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	return e
}

// fault says what is wrong with a command's exit code or messages, or returns "" if all is right. A tested command may
// fail, but only with a documented exit code and an error of one line, and within the bounds on time and memory.
func (e ended) fault(use cacheUse) string {
	complaints := slices.DeleteFunc(strings.Split(strings.TrimSpace(e.complaint), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "autotune: kernels run on the CPU emulator") || strings.HasPrefix(line, "autotune: wrote ")
	})
	switch {
	case e.hung:
		return "it hangs"
	case e.code != exitFound && e.code != exitNoVariant && e.code != exitBadInput && e.code != exitDevice:
		return fmt.Sprintf("exit code %d", e.code)
	case e.code != exitFound && (len(complaints) != 1 || !strings.HasPrefix(complaints[0], "autotune: ")):
		return "want one line that begins with autotune:"
	case e.mb > refusalMB || !use.searches && e.seconds > refusalTime.Seconds():
		return fmt.Sprintf("%.2f s, %d MB", e.seconds, e.mb)
	}
	return ""
}

// trialKeys returns the keys of all trials in a cache, except those of the problem that a command removes.
func trialKeys(t *testing.T, path string) (map[string]bool, error) {
	t.Helper()
	s, err := store.Open(t.Context(), path, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	problems, err := s.Problems()
	all := map[string]bool{}
	for _, p := range problems {
		if p.ProblemID == removable {
			continue
		}
		entries, err := s.Entries(p.ProblemID)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			all[e.Provenance.Key()] = true
		}
	}
	return all, err
}

// lost returns the keys of trials that were in a cache before and are missing after.
func lost(before, after map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(before)), func(key string) bool { return after[key] })
}

// mustBeWhole fails the test if a file that a command wrote into the folder is incomplete.
func (w workplace) mustBeWhole(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(w.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(filepath.Base(path), "new") && filepath.Base(filepath.Dir(path)) != "new" {
			return err
		}
		switch name := filepath.Base(path); {
		case d.IsDir() && strings.HasSuffix(name, ".new"):
			return fs.SkipDir // a killed process may leave an unfinished folder
		case name == "new.db":
			issues, err := store.CheckFile(t.Context(), path)
			if err == nil && len(issues) > 0 {
				err = errors.New(issues[0].String())
			}
			return err
		case name == "new.t4":
			_, err = recording.Load(t.Context(), path)
		case name == "new.json":
			text, _ := os.ReadFile(path)
			err = json.Unmarshal(text, new(any))
		case filepath.Ext(name) == ".png":
			text, _ := os.ReadFile(path)
			_, err = png.Decode(bytes.NewReader(text))
		}
		return err
	})
	if err != nil {
		t.Errorf("half of a file is left: %v", err)
	}
}
