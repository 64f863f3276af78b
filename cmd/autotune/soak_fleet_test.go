//go:build soak

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"autotune/internal/worker"
)

const (
	fleetWorkers = 3
	fleetCalm    = 20 * time.Second // to be whole again, once nothing is killed any more
	// Problems that workers may hold: each eight and its control's, and a while after the last
	// search the controls' alone, since the others are of searches that are gone.
	mostHeld   = fleetWorkers * 9
	fewestHeld = fleetWorkers
	sweptAfter = 60 * time.Second
)

// fleet is a NATS server and workers that offer the emulator there. Each is killed at
// random and started again where it was, as a service manager does it.
type fleet struct {
	*soak
	dir, url string
	mu       sync.Mutex
	members  []*member // the server is the first
}

// member is a process that is started again whenever it ends.
type member struct {
	line   string
	c      *exec.Cmd
	said   *bytes.Buffer
	ended  chan struct{}
	killed bool
}

func newFleet(t *testing.T, s *soak) *fleet {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "autotune-soak-fleet-") // beside the searches' own, whose look counts what is left
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{soak: s, dir: dir, url: "nats://" + l.Addr().String()}
	l.Close()
	f.members = append(f.members, &member{line: "natsserver serve " + f.url})
	for n := range fleetWorkers {
		f.members = append(f.members, &member{line: fmt.Sprintf("autotune worker --nats %s --device emulator --name w%d --compilers 1", f.url, n)})
	}
	t.Cleanup(func() {
		for _, m := range f.members {
			if m.c != nil {
				_ = m.c.Process.Kill()
				<-m.ended
			}
		}
		os.RemoveAll(dir)
	})
	f.restart(t)
	return f
}

// restart starts the members that have ended. A worker may end by itself only where it
// cannot reach the server at its start.
func (f *fleet) restart(t *testing.T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, m := range f.members {
		if m.c != nil {
			select {
			case <-m.ended:
			default:
				continue
			}
			if alone := strings.Contains(m.said.String(), "no NATS server"); !m.killed && (i == 0 || !alone) {
				t.Errorf("%s ended by itself: %v: %s", m.line, m.c.ProcessState, m.said)
			}
		}
		words := strings.Fields(m.line)
		m.c, m.said = f.command(t, words[0], words[1:]...)
		m.c.Dir, m.c.SysProcAttr = f.dir, worker.ChildAttributes()
		m.c.Env = append(m.c.Env, "TMPDIR="+filepath.Join(f.dir, "tmp"))
		m.killed, m.ended = false, make(chan struct{})
		if err := m.c.Start(); err != nil {
			t.Fatal(err)
		}
		go func(c *exec.Cmd, ended chan struct{}) {
			_ = c.Wait()
			close(ended)
		}(m.c, m.ended)
	}
}

// kill ends a member, most often without a word, and waits until it has ended.
func (f *fleet) kill(n int) {
	f.mu.Lock()
	m := f.members[n]
	signal := syscall.SIGKILL
	if f.rng(3) == 0 {
		signal = syscall.SIGTERM
	}
	m.killed = true
	_ = m.c.Process.Signal(signal)
	f.mu.Unlock()
	<-m.ended
}

// trouble kills members until a round is over. Sometimes it lets some time pass before
// they are there again.
func (f *fleet) trouble(t *testing.T, until time.Time) {
	for time.Now().Before(until) && !t.Failed() {
		time.Sleep(time.Duration(500+f.rng(7000)) * time.Millisecond)
		if n := f.rng(2 * len(f.members)); n < len(f.members) {
			what := "workers killed"
			if n == 0 {
				what = "servers killed"
			}
			f.kill(n)
			f.count(what)
			time.Sleep(time.Duration(f.rng(2)*f.rng(3000)) * time.Millisecond)
		}
		f.restart(t)
	}
}

// look waits until the fleet is whole and idle: the server and its workers, with a temporary folder each, and with that
// many problems open for searches at most.
func (f *fleet) look(t *testing.T, held int, within time.Duration) {
	t.Helper()
	for calm := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		f.restart(t)
		all, _ := f.command(t, "autotune", "workers", "--nats", f.url, "--json", "-")
		text, err := all.Output()
		scratch, _ := filepath.Glob(filepath.Join(f.dir, "tmp", "*[0-9]"))
		open, _ := filepath.Glob(filepath.Join(f.dir, "tmp", "*", "session-*"))
		processes, there := processesOf(f.dir), bytes.Count(text, []byte(`"worker":"w`))
		if there == fleetWorkers && processes == len(f.members) && len(scratch) <= fleetWorkers && len(open) <= held {
			return
		} else if time.Now().After(calm) {
			t.Fatalf("the fleet has %d workers (%v), %d processes, the temporary folders %v and the problems %v open:\n%s",
				there, err, processes, scratch, open, text)
		}
	}
}

// mayEnd tells whether a search through the server ended as one may whose server or
// workers went for longer than it waits.
func (f *fleet) mayEnd(e ended) bool {
	gone := e.code == exitInterrupted || e.code == exitDevice || e.code == exitNoVariant
	for _, reason := range []string{"the workers went", "no NATS server", "no worker", "is gone", "the connection to nats://"} {
		if gone && strings.Contains(e.complaint, reason) {
			return true
		}
	}
	return false
}
