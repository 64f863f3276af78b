package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/trial"
)

// plainInterval is the time between two progress lines in a pipe.
const plainInterval = 2 * time.Second

// barWidth leaves room for the rest of the line in a terminal of 80 columns.
const barWidth = 16

// progress shows how a search goes: a live line in a terminal, plain lines
// elsewhere.
type progress interface {
	update(tuner.Progress)
	done()
}

func newProgress(f *os.File, title string, quiet bool) progress {
	switch {
	case quiet:
		return noProgress{}
	case term.IsTerminal(int(f.Fd())):
		return newBar(f, title)
	}
	fmt.Fprintln(f, title)
	return &lines{out: f}
}

type noProgress struct{}

func (noProgress) update(tuner.Progress) {}
func (noProgress) done()                 {}

// lines prints a line every so often.
type lines struct {
	out  io.Writer
	last time.Time
	next tuner.Progress
	due  bool
}

func (l *lines) update(p tuner.Progress) {
	l.next, l.due = p, true
	if time.Since(l.last) >= plainInterval {
		l.print()
	}
}

func (l *lines) print() {
	fmt.Fprintf(l.out, "%d/%d  %s\n", l.next.Done, l.next.Planned, summary(l.next))
	l.last, l.due = time.Now(), false
}

func (l *lines) done() {
	if l.due {
		l.print()
	}
}

// bar is a live progress bar.
type bar struct {
	container *mpb.Progress
	bar       *mpb.Bar
	mu        sync.Mutex
	latest    tuner.Progress
}

func newBar(out io.Writer, title string) *bar {
	fmt.Fprintln(out, title)
	b := &bar{container: mpb.New(mpb.WithOutput(out), mpb.WithWidth(barWidth), mpb.WithRefreshRate(120*time.Millisecond))}
	b.bar = b.container.New(0, mpb.BarStyle().Rbound("").Lbound("").Filler("━").Tip("━").Padding("─"),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			b.mu.Lock()
			defer b.mu.Unlock()
			return fmt.Sprintf(" %d/%d  %s", b.latest.Done, b.latest.Planned, summary(b.latest))
		})))
	return b
}

func (b *bar) update(p tuner.Progress) {
	b.mu.Lock()
	b.latest = p
	b.mu.Unlock()
	b.bar.SetTotal(p.Planned, false)
	b.bar.SetCurrent(int64(p.Done))
}

func (b *bar) done() {
	// An interrupted search leaves the bar where it was.
	if int64(b.latest.Done) < b.latest.Planned {
		b.bar.Abort(false)
	} else {
		b.bar.SetTotal(-1, true)
	}
	b.container.Wait()
}

// summary is the part of a progress line that both forms share: rate, best so
// far, failures, time left.
func summary(p tuner.Progress) string {
	if p.Phase == tuner.Preparing {
		return fmt.Sprintf("%s, %.0f s", p.Phase, p.Elapsed.Seconds())
	}
	var parts []string
	fresh := p.Done - p.Resumed
	rate := float64(fresh) / max(p.Elapsed.Seconds(), 1e-9)
	digits := 0
	if rate < 10 {
		digits = 1
	}
	parts = append(parts, strconv.FormatFloat(rate, 'f', digits, 64)+"/s")
	if p.Best != nil {
		best := "best " + reports.FormatMS(p.Best.Time.Median)
		if p.Default != nil && p.Default.Status == trial.OK {
			best += fmt.Sprintf(" (%.2fx default)", p.Default.Time.Median/p.Best.Time.Median)
		}
		parts = append(parts, best)
	}
	for _, status := range trial.Statuses {
		if n := p.ByStatus[status]; n > 0 && status != trial.OK {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if left := secondsLeft(p, rate); fresh > 0 && left > 0.5 {
		parts = append(parts, "ETA "+(time.Duration(left)*time.Second).String())
	}
	return strings.Join(parts, "  ")
}

// secondsLeft is until the last trial or the search's time limit, whichever
// comes first.
func secondsLeft(p tuner.Progress, rate float64) float64 {
	left := float64(p.Planned-int64(p.Done)) / max(rate, 1e-9)
	if p.Limit > 0 {
		left = min(left, (p.Limit - p.Elapsed).Seconds())
	}
	return left
}
