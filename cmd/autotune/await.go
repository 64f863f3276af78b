package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"autotune/device/compile"
	"autotune/internal/output"
)

// awaited shows in a terminal what the command waits for and how long it has, on a line that goes away. It
// shows nothing in a pipe, with --quiet, or for a short wait.
type awaited struct {
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
	awaitedAfter = 500 * time.Millisecond
	awaitedEvery = 250 * time.Millisecond
)

// await begins to show what is awaited. The caller ends it.
func await(c *cli.Context, what string) *awaited {
	if c.Bool("quiet") || !term.IsTerminal(int(os.Stderr.Fd())) {
		return &awaited{}
	}
	return awaitOn(os.Stderr, columnsOf(os.Stderr), what)
}

func awaitOn(out io.Writer, columns int, what string) *awaited {
	a := &awaited{out: out, columns: columns, stop: make(chan struct{}), what: what, started: time.Now()}
	a.ended.Go(func() {
		shown := false
		for next := time.After(awaitedAfter); ; next = time.After(awaitedEvery) {
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
func (a *awaited) line() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := fmt.Sprintf("%s, %.0f s", output.Line(a.what), time.Since(a.started).Seconds())
	if a.columns > 1 {
		text = shortened(text, a.columns-1)
	}
	return text
}

// now changes what is awaited. The time goes on from where the first began.
func (a *awaited) now(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.what = what
}

// done ends it, once.
func (a *awaited) done() {
	if a.out == nil {
		return
	}
	close(a.stop)
	a.ended.Wait()
	a.out = nil
}

// counted is a compiler that shows how many kernels it has compiled.
type counted struct {
	compile.Compiler
	said *awaited
	done atomic.Int64
}

func (n *counted) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	b, err := n.Compiler.Compile(ctx, r)
	n.said.now(fmt.Sprintf("compiling kernels, %d done", n.done.Add(1)))
	return b, err
}
