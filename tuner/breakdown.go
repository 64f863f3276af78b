package tuner

import (
	"math"
	"slices"
	"sync"
	"time"

	"autotune/device/trial"
)

// Breakdown says where a search's wall time went. Compile, Verify and Measure add up the
// work itself. Compilations run side by side, and so do the evaluations of several devices,
// so each sum can exceed Wall. Wait is the time in which the device, or one of several on
// average, had nothing to do.
type Breakdown struct {
	Wall    time.Duration
	Open    time.Duration // preparing tensors and the reference's output
	Compile time.Duration
	Verify  time.Duration
	Measure time.Duration
	Finals  time.Duration // finals, gates and a second worker
	Wait    time.Duration
	// Busy is the share of Wall in which the device was at work, or every compiler was.
	Busy float64
}

func (b *Breakdown) add(p trial.Phases) {
	b.Compile += trial.DurationOf(p.CompileMS)
	b.Verify += trial.DurationOf(p.VerifyMS)
	b.Measure += trial.DurationOf(p.MeasureMS)
}

func (b *Breakdown) close(start time.Time, log *workLog, workers, devices int) {
	b.Wall = time.Since(start)
	b.Wait = max(0, b.Wall-b.Open-(b.Verify+b.Measure)/time.Duration(devices)-b.Finals)
	b.Busy = float64(log.busy(workers)) / float64(max(1, b.Wall))
}

// compilationsAnEvaluation is how many configurations must be compiling for each device, so that
// one is ready whenever it has evaluated another.
func (b Breakdown) compilationsAnEvaluation() int {
	evaluating := b.Verify + b.Measure
	if evaluating == 0 {
		return policy.aheadAtFirst
	}
	return int(math.Ceil(policy.aheadMargin * float64(b.Compile) / float64(evaluating)))
}

type workLog struct {
	mu    sync.Mutex
	edges []edge
}

// edge is a moment at which compilers or devices began their work: how many, or negative for those
// that ended it.
type edge struct {
	at                time.Time
	compiling, device int
}

func (l *workLog) compiled(from time.Time)  { l.add(edge{from, 1, 0}, edge{time.Now(), -1, 0}) }
func (l *workLog) evaluated(from time.Time) { l.add(edge{from, 0, 1}, edge{time.Now(), 0, -1}) }

func (l *workLog) add(edges ...edge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.edges = append(l.edges, edges...)
}

// busy is how long the search was held up by real work: the device's, or that of as many
// compilers as there are. Nothing else may use the log any more.
func (l *workLog) busy(workers int) time.Duration {
	slices.SortFunc(l.edges, func(a, b edge) int { return a.at.Compare(b.at) })
	var busy time.Duration
	var now edge
	for _, e := range l.edges {
		if now.device > 0 || now.compiling >= workers {
			busy += e.at.Sub(now.at)
		}
		now = edge{e.at, now.compiling + e.compiling, now.device + e.device}
	}
	return busy
}
