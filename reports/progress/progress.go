// Package progress shows in a terminal or a pipe how searches proceed and what a command is waiting for.
package progress

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner"
)

// Every is the interval between two progress lines in a pipe.
const Every = 2 * time.Second

// barWidth is the width of the progress bar, so small that the bar and its text fit into 80 columns.
const barWidth = 16

// Progress shows how a search proceeds: as a live line in a terminal, and as plain lines elsewhere.
type Progress interface {
	Update(tuner.Progress)
	Done()
}

// Lines prints a line of progress every few seconds.
func Lines(out io.Writer) Progress { return &lines{out: out} }

type lines struct {
	out  io.Writer
	last time.Time
	next tuner.Progress
	due  bool
}

func (l *lines) Update(p tuner.Progress) {
	l.next, l.due = p, true
	if time.Since(l.last) >= Every {
		l.write()
	}
}

func (l *lines) write() {
	fmt.Fprintln(l.out, summary(l.next))
	l.last, l.due = time.Now(), false
}

func (l *lines) Done() {
	if l.due {
		l.write()
	}
}

type bar struct {
	container *mpb.Progress
	bar       *mpb.Bar
	latest    atomic.Pointer[tuner.Progress]
}

func Bar(out io.Writer) Progress {
	b := &bar{container: mpb.New(mpb.WithOutput(out), mpb.WithWidth(barWidth), mpb.WithRefreshRate(120*time.Millisecond))}
	b.latest.Store(&tuner.Progress{})
	began := time.Now()
	b.bar = b.container.New(0, mpb.BarStyle().Rbound("").Lbound("").Filler("━").Tip("━").Padding("─"),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			latest := *b.latest.Load()
			if latest.Phase == "" { // the search has not reported anything yet
				return fmt.Sprintf(" building the space, %.0f s", time.Since(began).Seconds())
			}
			return " " + summary(latest)
		})))
	return b
}

func (b *bar) Update(p tuner.Progress) {
	b.latest.Store(&p)
	b.bar.SetTotal(p.Planned, false)
	b.bar.SetCurrent(int64(p.Done))
}

func (b *bar) Done() {
	// If a search is interrupted, the progress bar stays where it was.
	if latest := b.latest.Load(); int64(latest.Done) < latest.Planned {
		b.bar.Abort(false)
	} else {
		b.bar.SetTotal(-1, true)
	}
	b.container.Wait()
}

// summary returns the text of a progress line: the number of finished trials, their rate, the best time so far and the
// failures. A progress line ends with the probability of a further gain, if that is estimated, or else with the
// remaining time.
func summary(p tuner.Progress) string {
	done := fmt.Sprintf("%d/%d", p.Done, p.Planned)
	if p.Phase == tuner.Preparing {
		return fmt.Sprintf("%s  %s, %.0f s", done, p.Phase, p.Elapsed.Seconds())
	}
	fresh := p.Done - p.Resumed
	rate := float64(fresh) / max(p.Elapsed.Seconds(), 1e-9)
	digits := 0
	if rate < 10 {
		digits = 1
	}
	parts := []string{done, fmt.Sprintf("%.*f/s", digits, rate)}
	if fresh == 0 && p.Resumed > 0 {
		parts[1] = fmt.Sprintf("%d known from the cache", p.Resumed)
	}
	if p.Best != nil {
		parts = append(parts, "best "+bestSoFar(p.Best, p.Default))
	}
	for _, status := range trial.Statuses {
		if n := p.ByStatus[status]; n > 0 && status != trial.OK {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	// A search that may end by itself has no ETA: the probability of a further gain is the best prediction of its end.
	if p.Outlook != nil {
		parts = append(parts, fmt.Sprintf("more: %.0f %%", 100*p.Outlook.Chance))
	} else if left := secondsLeft(p, rate); fresh > 0 && left > 0.5 {
		parts = append(parts, "ETA "+(time.Duration(left)*time.Second).String())
	}
	return strings.Join(parts, "  ")
}

// bestSoFar returns the best time in the unit of the whole search, and how many times faster than the untuned default
// that is, unless the best is the default itself.
func bestSoFar(best, untuned *trial.Trial) string {
	if untuned == nil || untuned.Status != trial.OK {
		return reports.FormatMS(best.Time.Median)
	}
	text := reports.UnitOf(untuned.Time.Median).Format(best.Time.Median)
	if best.Configuration.Key() != untuned.Configuration.Key() {
		text += fmt.Sprintf(" (%.2fx default)", untuned.Time.Median/best.Time.Median)
	}
	return text
}

// secondsLeft estimates the time until the last trial or until the search's time limit, whichever comes first.
func secondsLeft(p tuner.Progress, rate float64) float64 {
	left := float64(p.Planned-int64(p.Done)) / max(rate, 1e-9)
	if p.Limit > 0 {
		left = min(left, (p.Limit - p.Elapsed).Seconds())
	}
	return left
}

// Many shows how several searches proceed: it prints a line every few seconds, with an ETA.
type Many struct {
	say     func(line string) // nil: nothing is shown
	total   int
	started time.Time

	mu      sync.Mutex
	last    time.Time
	done    int
	running map[string]tuner.Progress
}

// NewMany returns the progress of the given number of searches. NewMany prints nothing if the function say, which
// prints one line, is nil.
func NewMany(say func(line string), total int) *Many {
	return &Many{say: say, total: total, started: time.Now(), last: time.Now(), running: map[string]tuner.Progress{}}
}

func (m *Many) One(label string) Progress { return &oneOfMany{m, label} }

type oneOfMany struct {
	all   *Many
	label string
}

func (o *oneOfMany) Update(p tuner.Progress) {
	o.all.mu.Lock()
	o.all.running[o.label] = p
	o.all.mu.Unlock()
	o.all.Print(false)
}

func (o *oneOfMany) Done() {}

func (m *Many) Finish(label string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	delete(m.running, label)
}

// Print prints a line of progress if enough time has passed since the previous line, or if the search has ended.
func (m *Many) Print(last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.say == nil || !last && time.Since(m.last) < Every {
		return
	}
	m.last = time.Now()
	m.say(m.line())
}

// line says how many problems are done and how many trials each running search has finished. The ETA assumes that the
// remaining problems take as long as the finished ones.
func (m *Many) line() string {
	parts := []string{fmt.Sprintf("%d/%d problems", m.done, m.total)}
	if m.done > 0 && m.done < m.total {
		left := time.Since(m.started) / time.Duration(m.done) * time.Duration(m.total-m.done)
		parts = append(parts, "ETA "+left.Round(time.Second).String())
	}
	for _, label := range slices.Sorted(maps.Keys(m.running)) {
		p := m.running[label]
		parts = append(parts, fmt.Sprintf("%s: %d", label, p.Done))
	}
	return strings.Join(parts, "  ")
}

// Wait shows in a terminal what the command is waiting for and for how long, on a line that disappears at the end. Wait
// shows nothing while a wait is short.
type Wait struct {
	out     io.Writer // nil: nothing is shown
	columns int
	stop    chan struct{}
	ended   sync.WaitGroup

	mu      sync.Mutex
	what    string
	started time.Time
}

// waitAfter is the length of the shortest wait that is shown, and waitEvery the interval at which the line is updated.
const (
	waitAfter = 500 * time.Millisecond
	waitEvery = 250 * time.Millisecond
)

// Await begins to show what the command is waiting for. When the wait is over, the caller must call the method Done.
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

// line says what the command is waiting for and for how long, shortened to one line of the terminal.
func (a *Wait) line() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := fmt.Sprintf("%s, %.0f s", output.Line(a.what), time.Since(a.started).Seconds())
	if runes := []rune(text); a.columns > 1 && len(runes) >= a.columns {
		return string(runes[:a.columns-2]) + "…"
	}
	return text
}

// Now changes the text that says what the command is waiting for, while the displayed time continues from the beginning
// of the wait.
func (a *Wait) Now(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.what = what
}

func (a *Wait) Done() {
	if a.out == nil {
		return
	}
	close(a.stop)
	a.ended.Wait()
	a.out = nil
}

func (a *Wait) Shown() bool { return a.out != nil }
