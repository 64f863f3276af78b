package main

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
)

// signalWait is how long a command may run after the first signal: one second, plus some for a busy test machine.
const signalWait = 5 * time.Second

// interruptible lists commands that run for minutes. FOLDER stands for a folder with the files that the commands read.
var interruptible = []struct {
	name, command string
	signals       []syscall.Signal
	started       string // a text on stderr once the command is at work
	compiles      bool
	file, part    string // a file that the command must write, and a text in it
}{
	{"search", "search max_pool2d --shape 1x1x24x24 --device emulator --budget 0 --time 0 --no-cache --json FOLDER/best.json", signals[:1],
		"best", true, "FOLDER/best.json", `"schema": "autotune/best-config/`},
	{"verify", "verify max_pool2d --shape 1x1x24x24 --device emulator --budget 0", signals[1:2], "/s", true, "", ""},
	{"space", "space --file FOLDER/space.json", signals[2:], "", false, "", ""},
	{"simulate, many repeats", "simulate ../../tuner/simulate/testdata/pnpoly__part.json.gz --repeats 10000 --strategy all", signals[:1], "", false, "", ""},
	{"simulate, pipe", "simulate FOLDER/pipe", signals, "", false, "", ""},
	{"report", "report FOLDER/pipe", signals, "", false, "", ""},
	{"export", "export --from FOLDER/pipe --format json", signals, "", false, "", ""},
	{"problems", "search --problems FOLDER/pipe --device emulator", signals, "", false, "", ""},
}

// signals lists the signals that end a command. A command that computes until it is interrupted is tested with only
// one signal, to save processor time.
var signals = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// The first signal must end a command with exit code 130, even if it arrives twice in a row, as timeout(1) sends it. A
// search that a signal ends must still deliver its results so far.
func TestSignals(t *testing.T) {
	testneeds.Nothing(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	caches := t.TempDir()
	must.OK(t, compiledTogether(t)(caches))
	t.Setenv("XDG_CACHE_HOME", caches)
	notOurs := make(chan os.Signal, 1) // children would ignore the signals that nohup ignores
	signal.Notify(notOurs, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(notOurs) })
	for _, c := range interruptible {
		for _, sent := range c.signals {
			t.Run(c.name+"/"+sent.String(), func(t *testing.T) {
				if c.compiles {
					testneeds.CXX.Need(t)
				}
				t.Parallel()
				place := strings.NewReplacer("FOLDER", endlessFiles(t))
				out := interrupted(t, strings.Fields(place.Replace(c.command)), sent, func(pid int, complaints string) bool {
					switch {
					case c.started != "":
						said, _ := os.ReadFile(complaints)
						return bytes.Contains(said, []byte(c.started))
					case strings.Contains(c.command, "FOLDER/pipe"):
						return isRead(t, place.Replace("FOLDER/pipe"))
					}
					return hasWorked(pid)
				})
				if c.file == "" {
					return
				}
				written, err := os.ReadFile(place.Replace(c.file))
				if err != nil || !bytes.Contains(written, []byte(c.part)) {
					t.Errorf("%s: %v, %q; want %s in it", c.file, err, written, c.part)
				}
				if !strings.Contains(out, "winner") {
					t.Errorf("no table: %q", out)
				}
			})
		}
	}
}

// interrupted starts the program, sends it a signal while it works, and returns what it printed.
func interrupted(t *testing.T, arguments []string, sent syscall.Signal, isAtWork func(pid int, complaints string) bool) string {
	t.Helper()
	complaints := filepath.Join(t.TempDir(), "complaints")
	log, err := os.Create(complaints)
	must.OK(t, err)
	defer log.Close()
	var out bytes.Buffer
	command, _ := prepared(t, "autotune", arguments...)
	command.Stdout, command.Stderr = &out, log
	must.OK(t, command.Start())
	for deadline := time.Now().Add(20 * time.Second); !isAtWork(command.Process.Pid, complaints); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(complaints)
			t.Errorf("it has not begun: %q", said)
			break
		}
	}
	if err := command.Process.Signal(sent); err != nil {
		t.Fatalf("it ended before the signal: %v", err)
	}
	at := time.Now()
	time.Sleep(time.Millisecond)
	_ = command.Process.Signal(sent)
	e, took := waited(command, &bytes.Buffer{}), time.Since(at)
	said, _ := os.ReadFile(complaints)
	if e.code != exitInterrupted || took > signalWait || !bytes.Contains(said, []byte("autotune: interrupted")) {
		t.Errorf("exit code %d, %s after the signal; want %d in %s, and word of it in:\n%s", e.code, took, exitInterrupted, signalWait, said)
	}
	return out.String()
}

// isRead reports whether a process has opened the pipe for reading. isRead keeps the pipe open for writing, so that
// the reader waits for data that never comes.
func isRead(t *testing.T, pipe string) bool {
	t.Helper()
	kept, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	t.Cleanup(func() { kept.Close() })
	return true
}

// hasWorked reports whether a process has used 0.2 s of processor time, which is more than any command takes to start.
func hasWorked(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 12 {
		return false
	}
	ticks, _ := strconv.Atoi(fields[11]) // ticks in user mode, of 0.01 s each
	return ticks >= 20
}

// endlessFiles makes a folder with a pipe that delivers no data and a search space that takes minutes to enumerate.
func endlessFiles(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	numbers := strings.Join(slices.Collect(func(yield func(string) bool) {
		for i := range 100_000 {
			if !yield(fmt.Sprint(i + 1)) {
				return
			}
		}
	}), ",")
	text := fmt.Sprintf(`{"params": {"a": [%s], "b": [%[1]s]}, "constraints": ["a*b %% 1000003 == 77"]}`, numbers)
	must.OK(t, os.WriteFile(filepath.Join(folder, "space.json"), []byte(text), 0o600))
	return folder
}
