//go:build soak

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"autotune/device/emulator"
	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/store"
)

const (
	soakUsers = 3                // commands at once
	soakRound = 20 * time.Second // then all is still, and looked at
)

// soaked are problems that the emulator answers in milliseconds.
var soaked = []string{
	"max_pool2d --shape 1x1x8x8",
	"avg_pool1d --shape 1x1x32",
	"avg_pool2d --shape 1x1x12x12",
	"depthwise_conv2d --shape 1x2x8x8",
	"conv2d --shape 1x2x6x6 --set c_out=4",
}

// soak is a machine on which several users share one cache.
type soak struct {
	*seasoned
	dir   string
	rng   func(n int) int
	fleet *fleet

	mu     sync.Mutex
	counts map[string]int
	seen   map[string]bool // trials that finished searches told of, and the cache then had
}

// TestSoak searches for as long as SOAK says, several at once on one cache, some of them
// through a NATS server. Searches, workers and the server are killed now and then, and
// searches are interrupted and left without room. After each round it looks at what is
// left: nothing may be lost, and nothing may grow.
func TestSoak(t *testing.T) {
	span, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil {
		t.Fatalf("SOAK=30m says for how long: %v", err)
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(19, uint64(time.Now().UnixNano())))
	s := &soak{seasoned: season(t), dir: dir, counts: map[string]int{}, seen: map[string]bool{}}
	s.rng = func(n int) int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return draw.IntN(n)
	}
	s.fleet = newFleet(t, s)
	begin := time.Now()
	var levels []level
	for round := 0; time.Since(begin) < span && !t.Failed(); round++ {
		until := time.Now().Add(soakRound)
		var users sync.WaitGroup
		for range soakUsers {
			users.Go(func() {
				for n := 0; time.Now().Before(until) && !t.Failed(); n++ {
					s.act(t, fmt.Sprint(round, "-", s.rng(1<<30)))
				}
			})
		}
		users.Go(func() { s.inside(t, until) })
		users.Go(func() { s.fleet.trouble(t, until) })
		users.Wait()
		levels = append(levels, s.look(t))
	}
	s.fleet.look(t, fewestHeld, sweptAfter)
	s.sum(t, time.Since(begin), levels)
}

func (s *soak) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

// act does what one user does next.
func (s *soak) act(t *testing.T, name string) {
	dir := filepath.Join(s.dir, "user-"+name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Error(err)
		return
	}
	defer os.RemoveAll(dir)
	if s.rng(4) == 0 {
		s.look1(t, dir)
		return
	}
	record := filepath.Join(dir, "new.t4")
	device, through := "--device emulator", ""
	if s.rng(2) == 0 { // what the cache knows asks no worker
		device, through = "--fresh --nats "+s.fleet.url, " through the server"
	}
	line := fmt.Sprintf("search %s %s --budget %d --seed %d --time 20s --cache %s -q --record %s --json %s",
		soaked[s.rng(len(soaked))], device, 1+s.rng(12), s.rng(1000), s.cache, record, filepath.Join(dir, "new.json"))
	switch s.rng(6) {
	case 0:
		s.end(t, line, os.Kill, "searches"+through+" killed")
	case 1:
		// Before the program hears signals, one ends it as it ends any other.
		e := s.end(t, line, os.Interrupt, "searches"+through+" interrupted")
		if unheard := e.code == -1 && e.complaint == ""; !unheard && e.code != exitInterrupted && e.code != exitFound && !s.fleet.mayEnd(e) {
			t.Errorf("%s: interrupted, code %d: %s", line, e.code, e.complaint)
		}
	case 2:
		c, complaint := s.command(t, "sh", append([]string{"-c", fmt.Sprintf(`ulimit -f %d; exec autotune "$@"`, s.rng(4000)), "sh"}, strings.Fields(line)...)...)
		e := end(t, c, complaint)
		if s.count("searches with too little room"); e.code != exitFound && !s.fleet.mayEnd(e) && !strings.Contains(e.complaint, "file too large") {
			t.Errorf("%s: no room, code %d: %s", line, e.code, e.complaint)
		}
	default:
		e := s.run(t, line)
		switch {
		case e.code == exitFound:
			s.count("searches" + through + " finished")
		case through != "" && s.fleet.mayEnd(e):
			s.count("searches whose server or workers went for too long")
		default:
			t.Errorf("%s: code %d: %s", line, e.code, e.complaint)
			return
		}
		if _, err := os.Stat(record); err == nil || e.code == exitFound {
			s.mustHave(t, record)
		}
	}
	workplace{dir: dir}.mustBeWhole(t)
}

// look1 runs another command on the cache, and kills it now and then.
func (s *soak) look1(t *testing.T, dir string) {
	use := cacheUses[1+s.rng(len(cacheUses)-1)] // but for the search
	if use.name == "gc" || use.name == "rm" {
		crafted(t, s.cache, removable, 300)
	}
	w := workplace{dir: dir}
	line := strings.NewReplacer("CACHE", s.cache, "OTHER", s.other, "T4", s.t4, "NEW", filepath.Join(dir, "new"), "rm avg_pool1d", "rm '"+removable.Problem+"'", "--keep-size 150KB", "--keep-size 100MB").Replace(use.line)
	if use.name == "rm" {
		line = "cache gc --older-than 1000d --cache " + s.cache
	}
	if s.rng(3) == 0 {
		s.end(t, line, os.Kill, "other commands killed")
	} else {
		e := s.run(t, line)
		// A recheck may find that another is the fastest now.
		if s.count("other commands finished"); e.code != exitFound && (use.name != "recheck" || e.code != exitNoVariant) {
			t.Errorf("%s: code %d: %s", line, e.code, e.complaint)
		}
	}
	w.mustBeWhole(t)
}

// end starts a command and ends it by a signal after a while.
func (s *soak) end(t *testing.T, line string, signal os.Signal, what string) ended {
	c, complaint := s.command(t, "autotune", strings.Fields(line)...)
	if err := c.Start(); err != nil {
		t.Error(err)
		return ended{}
	}
	time.Sleep(time.Duration(s.rng(1500)) * time.Millisecond)
	_ = c.Process.Signal(signal)
	s.count(what)
	return waited(c, complaint)
}

// mustHave sees that the cache has every trial of a finished search's recording.
func (s *soak) mustHave(t *testing.T, record string) {
	r, err := recording.Load(t.Context(), record)
	if err != nil {
		t.Error(err)
		return
	}
	cached := s.configurations(t, r.Metadata.Problem.Text)
	for _, tr := range r.Trials {
		if key := soakKey(r.Metadata.Problem.Text, tr); cached[key] {
			s.mu.Lock()
			s.seen[key] = true
			s.mu.Unlock()
		} else {
			t.Errorf("%s: a search reported %s, %s, and the cache lacks it", r.Metadata.Problem.Text, tr.Configuration, tr.Status)
		}
	}
}

// soakKey names a configuration of a problem; a recording orders its tunables by
// name.
func soakKey(problem string, tr trial.Trial) string {
	words := strings.Fields(tr.Configuration.String())
	slices.Sort(words)
	return problem + ": " + strings.Join(words, " ")
}

// configurations are those that the cache has trials of; of one problem, or all.
func (s *soak) configurations(t *testing.T, problem string) map[string]bool {
	c, err := store.Open(t.Context(), s.cache, store.Options{ReadOnly: true})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer c.Close()
	problems, err := c.Problems()
	found := map[string]bool{}
	for _, p := range problems {
		if problem != "" && p.Problem != problem {
			continue
		}
		trials, e := c.Trials(p.ProblemID, nil)
		err = errors.Join(err, e)
		for _, tr := range trials {
			found[soakKey(p.Problem, tr)] = true
		}
	}
	if err != nil {
		t.Error(err)
	}
	return found
}

// inside searches again and again in this process.
func (s *soak) inside(t *testing.T, until time.Time) {
	op, err := operator.Find("max_pool2d")
	if err != nil {
		t.Error(err)
		return
	}
	for seed := uint64(1); time.Now().Before(until); seed++ {
		if err := s.searchInside(t.Context(), op, seed); err != nil {
			t.Errorf("in this process: %v", err)
			return
		}
		s.count("searches in one process")
	}
}

func (s *soak) searchInside(ctx context.Context, op *operator.Operator, seed uint64) (err error) {
	d, err := emulator.Open(emulator.Options{CacheDir: filepath.Join(s.xdg, "autotune")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	c, err := store.Open(ctx, s.cache, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	p, err := op.Bind(operator.Request{Shape: []int64{1, 1, 8, 8}}, d.Info().Limits)
	if err != nil {
		return err
	}
	if seed%3 == 0 { // left in the midst
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
	}
	_, err = tuner.Search(ctx, p, d, tuner.Options{Store: c, Budget: 4, Seed: seed, Fresh: true})
	if seed%3 == 0 && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, tuner.ErrNoVariant)) {
		return nil
	}
	return err
}

// look sees, when all commands have ended, that they left nothing and lost nothing.
func (s *soak) look(t *testing.T) level {
	// The next start removes what killed processes left in the temporary folder.
	if e := s.run(t, "search "+soaked[0]+" --device emulator --budget 1 --fresh -q --no-cache"); e.code != exitFound {
		t.Errorf("code %d: %s", e.code, e.complaint)
	}
	l := measured(t, s.dir, s.cache)
	s.fleet.look(t, mostHeld, fleetCalm)
	if l.processes > 0 || l.scratch > 0 {
		listing, _ := exec.Command("sh", "-c", `ls -laR "$TMPDIR"; ps -ef`).CombinedOutput()
		t.Errorf("%d processes and %d temporary folders are left:\n%s", l.processes, l.scratch, listing)
	}
	if issues, err := store.CheckFile(t.Context(), s.cache); err != nil || len(issues) > 0 {
		t.Errorf("the cache: %v, %v", issues, err)
	}
	cached := s.configurations(t, "")
	if gone := lost(s.seen, cached); len(gone) > 0 {
		t.Errorf("trials are lost: %v", gone)
	}
	return l
}

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
	goroutines, files  int // of this process, which searches too
	heapMB             float64
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
		if err == nil && strings.HasPrefix(d.Name(), "autotune-emulator-") {
			if l.scratch++; d.IsDir() {
				return fs.SkipDir
			}
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
