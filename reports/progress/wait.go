package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"autotune/internal/output"
)

// Wait shows in a terminal what the command waits for and how long it has, on a line that goes away. It shows nothing
// for a short wait.
type Wait struct {
	out     io.Writer // nil: nothing is shown
	columns int
	stop    chan struct{}
	ended   sync.WaitGroup

	mu      sync.Mutex
	what    string
	started time.Time
}

// How long something must be awaited to be shown, and how often the line changes.
const (
	waitAfter = 500 * time.Millisecond
	waitEvery = 250 * time.Millisecond
)

// Await begins to show what is awaited. The caller ends it.
func Await(out io.Writer, columns int, what string) *Wait {
	a := &Wait{out: out, columns: columns, stop: make(chan struct{}), what: what, started: time.Now()}
	a.ended.Go(func() {
		shown := false
		for next := time.After(waitAfter); ; next = time.After(waitEvery) {
			select {
			case <-next:
				fmt.Fprint(out, "\r"+a.line()+"\x1b[K")
				shown = true
			case <-a.stop:
				if shown {
					fmt.Fprint(out, "\r\x1b[K")
				}
				return
			}
		}
	})
	return a
}

// line is what is awaited, and for how long, in one line of the terminal.
func (a *Wait) line() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := fmt.Sprintf("%s, %.0f s", output.Line(a.what), time.Since(a.started).Seconds())
	if a.columns > 1 {
		text = shortened(text, a.columns-1)
	}
	return text
}

// Now changes what is awaited. The time goes on from where the first began.
func (a *Wait) Now(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.what = what
}

// Done ends it, once.
func (a *Wait) Done() {
	if a.out == nil {
		return
	}
	close(a.stop)
	a.ended.Wait()
	a.out = nil
}

// Shown tells whether anything can be seen of it.
func (a *Wait) Shown() bool { return a.out != nil }
