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

// A crash says why in the first lines of its output, and other failures in the last lines, so Output keeps only these
// lines.
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

// lineBytes limits the length of an output line that a message quotes.
const lineBytes = 2 << 10

// Shown makes a line of a program's output, which may be untrusted text, safe and short enough for a message.
func Shown(line string) string {
	if len(line) > lineBytes {
		line = line[:lineBytes] + "..."
	}
	return output.Line(line)
}

// tellingLine returns the most telling line of a dead program's standard error: the Go runtime's message, or the last.
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

// Environment returns the variables of this process for a child whose output reaches other users. Environment passes on
// only variables with the given names, which may be patterns such as CUDA_*, because other variables may hold
// passwords. Environment adds LC_ALL=C, so that messages are in English.
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

// streamGrace is how long processes that a command left behind may keep its output open.
const streamGrace = time.Second

// OwnGroup makes a command lead a process group of its own. The command's process group is killed when the context of
// the command ends and, on systems that support it, when the parent process ends. The caller calls EndGroup when the
// command has ended.
func OwnGroup(command *exec.Cmd) {
	command.SysProcAttr = ChildAttributes()
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = streamGrace
}

// EndGroup kills the processes that a command left behind when it ended, and tells whether there were any.
func EndGroup(command *exec.Cmd) bool {
	return command.Process != nil && syscall.Kill(-command.Process.Pid, syscall.SIGKILL) == nil
}

func killGroup(p *os.Process) {
	if syscall.Kill(-p.Pid, syscall.SIGKILL) != nil {
		_ = p.Kill()
	}
}
