package progress

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// screen collects everything that is written to a terminal.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// A wait must be shown on one line that fits the terminal and disappears at the end. A short wait must not be shown.
func TestAwait(t *testing.T) {
	var s screen
	a := Await(&s, 30, "a wait")
	a.Done()
	a.Done()
	if s.text.Len() > 0 {
		t.Errorf("shown at once: %q", s.text.String())
	}
	a = Await(&s, 30, "first")
	a.Now("then \x1b[31m something that has a very long name")
	time.Sleep(waitAfter + waitEvery)
	a.Done()
	lines := strings.Split(strings.TrimSuffix(s.text.String(), "\r\x1b[K"), "\x1b[K")
	if got := []rune(strings.TrimPrefix(lines[0], "\r")); len(got) != 29 || !strings.HasPrefix(string(got), "then ") || strings.Contains(string(got), "\x1b") {
		t.Errorf("%d columns: %q", len(got), string(got))
	}
	(&Wait{}).Done()
}
