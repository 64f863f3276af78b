package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner"
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

// progressOf is the progress that the flags ask for. Beside a block of lines a
// variant there is no place for a live line.
func progressOf(c *cli.Context, title string) progress {
	if c.Bool("quiet") {
		return &lines{out: io.Discard}
	}
	say(os.Stderr, title)
	if term.IsTerminal(int(os.Stderr.Fd())) && !c.Bool("verbose") {
		return newBar(os.Stderr)
	}
	return &lines{out: os.Stderr}
}

// say prints a line. A terminal shows it broken between words and obeys nothing in it.
func say(f *os.File, text string) {
	text = output.Line(text)
	if columns := columnsOf(f); columns > 0 {
		text = "\r\x1b[K" + reports.Wrap(text, columns) // a line of what is awaited may stand there
	}
	fmt.Fprintln(f, text)
}

// columnsOf is how wide a terminal is; 0 if the file is none.
func columnsOf(f *os.File) int {
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// tell says what a user may not expect, on standard error.
func tell(notices []string) {
	for _, notice := range notices {
		say(os.Stderr, "autotune: "+notice)
	}
}

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
	fmt.Fprintln(l.out, summary(l.next))
	l.last, l.due = time.Now(), false
}

func (l *lines) done() {
	if l.due {
		l.print()
	}
}

// bar is a live progress bar, with a glance under it where there is room.
type bar struct {
	container *mpb.Progress
	bar       *mpb.Bar
	latest    atomic.Pointer[tuner.Progress]
	glance    atomic.Pointer[glance]
	glances   rarely
}

func newBar(out io.Writer) *bar {
	b := &bar{container: mpb.New(mpb.WithOutput(out), mpb.WithWidth(barWidth), mpb.WithRefreshRate(120*time.Millisecond))}
	b.latest.Store(&tuner.Progress{})
	began := time.Now()
	b.bar = b.container.New(0, mpb.BarStyle().Rbound("").Lbound("").Filler("━").Tip("━").Padding("─"),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			latest := *b.latest.Load()
			if latest.Phase == "" { // the search has not said anything yet
				return fmt.Sprintf(" building the space, %.0f s", time.Since(began).Seconds())
			}
			return " " + summary(latest)
		})),
		mpb.BarExtender(mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error { return b.glance.Load().write(w, s) }), false))
	return b
}

func (b *bar) update(p tuner.Progress) {
	b.latest.Store(&p)
	if p.SoFar != nil {
		b.glances.do(glanceEvery, func() { b.glance.Store(b.glance.Load().next(p)) })
	}
	b.bar.SetTotal(p.Planned, false)
	b.bar.SetCurrent(int64(p.Done))
}

func (b *bar) done() {
	// An interrupted search leaves the bar where it was.
	if latest := b.latest.Load(); int64(latest.Done) < latest.Planned {
		b.bar.Abort(false)
	} else {
		b.bar.SetTotal(-1, true)
	}
	b.container.Wait()
}

// summary is a progress line: how many are done, rate, best so far, failures, the
// chance that there is more to gain, or else the time left.
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
	// A search that may end by itself has no better estimate of when.
	if p.Outlook != nil {
		parts = append(parts, fmt.Sprintf("more: %.0f %%", 100*p.Outlook.Chance))
	} else if left := secondsLeft(p, rate); fresh > 0 && left > 0.5 {
		parts = append(parts, "ETA "+(time.Duration(left)*time.Second).String())
	}
	return strings.Join(parts, "  ")
}

// bestSoFar is the best time, in the unit of the whole search. It also says how many times
// faster than the untuned default that is, unless it is the default itself.
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

// secondsLeft is until the last trial or the search's time limit, whichever
// comes first.
func secondsLeft(p tuner.Progress, rate float64) float64 {
	left := float64(p.Planned-int64(p.Done)) / max(rate, 1e-9)
	if p.Limit > 0 {
		left = min(left, (p.Limit - p.Elapsed).Seconds())
	}
	return left
}

// manyProgress shows how several searches go: a line every few seconds, with an ETA.
type manyProgress struct {
	quiet   bool
	total   int
	started time.Time

	mu      sync.Mutex
	last    time.Time
	done    int
	skipped int // problems among them that an earlier process of the run has searched
	running map[string]tuner.Progress
}

func newManyProgress(quiet bool, total int) *manyProgress {
	return &manyProgress{quiet: quiet, total: total, started: time.Now(), last: time.Now(), running: map[string]tuner.Progress{}}
}

// oneOfMany is the progress of one of them.
type oneOfMany struct {
	all   *manyProgress
	label string
}

func (o *oneOfMany) update(p tuner.Progress) {
	o.all.mu.Lock()
	o.all.running[o.label] = p
	o.all.mu.Unlock()
	o.all.print(false)
}

func (o *oneOfMany) done() {}

func (m *manyProgress) finish(label string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	delete(m.running, label)
}

// skip counts a problem that needed no search.
func (m *manyProgress) skip() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	m.skipped++
}

// print prints a line, if it is time for one.
func (m *manyProgress) print(last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quiet || !last && time.Since(m.last) < plainInterval {
		return
	}
	m.last = time.Now()
	say(os.Stderr, m.line())
}

// line says how many problems are done, and how far each is that is under way. It also
// says when all will be done, if the others take as long.
func (m *manyProgress) line() string {
	parts := []string{fmt.Sprintf("%d/%d problems", m.done, m.total)}
	if m.skipped > 0 {
		parts[0] += fmt.Sprintf(" (%d searched before)", m.skipped)
	}
	if searched := m.done - m.skipped; searched > 0 && m.done < m.total {
		left := time.Since(m.started) / time.Duration(searched) * time.Duration(m.total-m.done)
		parts = append(parts, "ETA "+left.Round(time.Second).String())
	}
	for _, label := range slices.Sorted(maps.Keys(m.running)) {
		p := m.running[label]
		parts = append(parts, fmt.Sprintf("%s: %d", label, p.Done))
	}
	return strings.Join(parts, "  ")
}

// rarely bounds how often something is done that a search waits for: at most once an interval, and for
// at most a fiftieth of the time.
type rarely struct{ next time.Time }

func (r *rarely) do(every time.Duration, what func()) {
	began := time.Now()
	if began.Before(r.next) {
		return
	}
	what()
	r.next = time.Now().Add(max(every, 50*time.Since(began)))
}
