package worker

import (
	"cmp"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"autotune/internal/output"
)

// How much of a process's output is kept: a crash says why in its first lines, a program that gives up in its last.
const (
	headBytes = 4 << 10
	tailBytes = 8 << 10
)

// Output keeps the beginning and the end of what a process writes.
type Output struct {
	Tail int // bytes to keep of the end; 0: 8 KiB

	mu      sync.Mutex
	head    []byte
	end     []byte
	skipped bool
}

func (t *Output) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if room := headBytes - len(t.head); room > 0 {
		k := min(room, len(b))
		t.head = append(t.head, b[:k]...)
		b = b[k:]
	}
	t.end = append(t.end, b...)
	if over := len(t.end) - cmp.Or(t.Tail, tailBytes); over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
		t.skipped = true
	}
	return n, nil
}

func (t *Output) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.skipped {
		return string(t.head) + "\n...\n" + string(t.end)
	}
	return string(t.head) + string(t.end)
}

// lineBytes bounds a line that a message has of a program's output.
const lineBytes = 2 << 10

// Shown is a line of a program's output, which anybody may have written, as a message may have it.
func Shown(line string) string {
	if len(line) > lineBytes {
		line = line[:lineBytes] + "..."
	}
	return output.Line(line)
}

// tellingLine is the line of a dead program's standard error that says most: the Go runtime's verdict, else the last.
func tellingLine(text string) string {
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, verdict := range []string{"panic: ", "fatal error: ", "SIG"} {
			if strings.HasPrefix(line, verdict) {
				return Shown(line)
			}
		}
		if line != "" {
			last = line
		}
	}
	return Shown(last)
}

// Environment is what a child gets of this process's environment if its output reaches others than this user: the
// variables of these names, which may be patterns as CUDA_*. Others may hold passwords. Messages are in English.
func Environment(names ...string) []string {
	kept := []string{"LC_ALL=C"}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if slices.ContainsFunc(names, func(pattern string) bool { fits, _ := path.Match(pattern, name); return fits }) {
			kept = append(kept, variable)
		}
	}
	return kept
}

// streamGrace is how long what a command left behind may hold its output.
const streamGrace = time.Second

// OwnGroup makes a command lead a process group of its own, which dies with its context and, where the system can, with
// this process. EndGroup belongs to it.
func OwnGroup(command *exec.Cmd) {
	command.SysProcAttr = ChildAttributes()
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = streamGrace
}

// EndGroup kills what a command left behind that has ended, and tells whether there was anything.
func EndGroup(command *exec.Cmd) bool {
	return command.Process != nil && syscall.Kill(-command.Process.Pid, syscall.SIGKILL) == nil
}

func killGroup(p *os.Process) {
	if syscall.Kill(-p.Pid, syscall.SIGKILL) != nil {
		_ = p.Kill()
	}
}
